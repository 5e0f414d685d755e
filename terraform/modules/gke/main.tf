# A service account for the pods (Workload Identity), keys out of Secret Manager, and the chart.

resource "google_service_account" "this" {
  project      = local.target.project
  account_id   = length(var.name) < 6 ? "${var.name}-gateway" : var.name
  display_name = "Nodes of ${var.name}"
}

resource "google_service_account_iam_member" "workload" {
  service_account_id = google_service_account.this.name
  role               = "roles/iam.workloadIdentityUser"
  member             = "serviceAccount:${local.pool}[${local.namespace}/${var.name}]"
}

resource "google_project_iam_member" "this" {
  for_each = toset(local.target.roles)

  project = local.target.project
  role    = each.value
  member  = "serviceAccount:${google_service_account.this.email}"
}

ephemeral "google_secret_manager_secret_version" "provider_key" {
  for_each = var.provider_keys

  project = local.target.secrets_project != null ? local.target.secrets_project : local.target.project
  secret  = each.value
  version = "latest"
}

# The keys go from the secrets manager into the cluster and into no plan and no state: what is ephemeral is written by `data_wo` alone.
# Terraform does not see that one has changed; `target.secrets_revision` tells it.
resource "kubernetes_secret_v1" "provider_keys" {
  count = length(var.provider_keys) > 0 ? 1 : 0

  metadata {
    name      = local.secret
    namespace = module.release.namespace
    labels    = var.labels
  }

  data_wo          = { for name, secret in ephemeral.google_secret_manager_secret_version.provider_key : name => secret.secret_data }
  data_wo_revision = local.target.secrets_revision
}

module "release" {
  source = "../kubernetes"

  name          = var.name
  replicas      = var.replicas
  image         = var.image
  document      = var.document
  authoritative = var.authoritative
  environment   = var.environment
  size          = var.size
  public        = var.public
  allowed_cidrs = var.allowed_cidrs
  certificate   = var.certificate
  host          = var.host
  labels        = var.labels
  provider_keys = { for name in keys(var.provider_keys) : name => "${kubernetes_secret_v1.provider_keys[0].metadata[0].name}/${name}" }

  target = merge(local.target.release, {
    # Google's load balancers keep idle connections for 600 s.
    idle_seconds    = 600
    load_balancer   = local.balanced
    identity        = { gcp = { serviceAccount = google_service_account.this.email } }
    annotations     = merge(local.annotations, try(local.target.release.annotations, {}))
    pod_annotations = merge({ "trestle/secrets-revision" = tostring(local.target.secrets_revision) }, try(local.target.release.pod_annotations, {}))
  })

  # Pods get tokens only once the binding is there.
  depends_on = [google_service_account_iam_member.workload]
}
