# One node on Cloud Run. Nothing there carries UDP or calls between instances, and no disk lasts.

module "core" {
  source = "../core"

  platform      = "cloud_run"
  name          = var.name
  replicas      = var.replicas
  image         = var.image
  document      = var.document
  authoritative = var.authoritative
  provider_keys = var.provider_keys
  environment   = var.environment
  size          = var.size
  public        = var.public
  allowed_cidrs = var.allowed_cidrs
  encrypted     = true
  idle_seconds  = 600
  # Cloud Run kills an instance 10 s after it has told it to end.
  drain_seconds = 8
}

resource "google_service_account" "this" {
  project      = local.target.project
  account_id   = length(var.name) < 6 ? "${var.name}-gateway" : var.name
  display_name = "The node of ${var.name}"
}

resource "google_project_iam_member" "this" {
  for_each = toset(local.target.roles)

  project = local.target.project
  role    = each.value
  member  = "serviceAccount:${google_service_account.this.email}"
}

resource "google_secret_manager_secret_iam_member" "this" {
  for_each = local.secrets

  project   = local.secrets_project
  secret_id = each.value
  role      = "roles/secretmanager.secretAccessor"
  member    = "serviceAccount:${google_service_account.this.email}"
}

# The document is no secret, but only secrets become files there.
resource "google_secret_manager_secret" "document" {
  project   = local.target.project
  secret_id = "${var.name}-document"
  labels    = var.labels

  replication {
    auto {}
  }
}

resource "google_secret_manager_secret_version" "document" {
  secret      = google_secret_manager_secret.document.id
  secret_data = var.document
}

resource "google_secret_manager_secret_iam_member" "document" {
  project   = local.target.project
  secret_id = google_secret_manager_secret.document.secret_id
  role      = "roles/secretmanager.secretAccessor"
  member    = "serviceAccount:${google_service_account.this.email}"
}

resource "google_cloud_run_v2_service" "this" {
  project             = local.target.project
  location            = local.target.location
  name                = var.name
  labels              = var.labels
  ingress             = var.public ? "INGRESS_TRAFFIC_ALL" : "INGRESS_TRAFFIC_INTERNAL_ONLY"
  deletion_protection = local.target.deletion_protection
  # Clients show their keys in the same header in which Google would want its own token: the node checks them, not Google.
  invoker_iam_disabled = true

  template {
    service_account                  = google_service_account.this.email
    timeout                          = "${local.target.timeout_seconds}s"
    max_instance_request_concurrency = local.target.concurrency
    execution_environment            = "EXECUTION_ENVIRONMENT_GEN2"

    scaling {
      min_instance_count = 1
      max_instance_count = 1
    }

    containers {
      image = module.core.image

      ports {
        name           = "http1"
        container_port = module.core.ports.clients
      }

      resources {
        limits   = { cpu = tostring(var.size.cpu), memory = "${var.size.memory_mib}Mi" }
        cpu_idle = false
      }

      dynamic "env" {
        for_each = local.environment
        content {
          name  = env.key
          value = env.value
        }
      }

      dynamic "env" {
        for_each = local.secrets
        content {
          name = env.key
          value_source {
            secret_key_ref {
              secret  = local.secrets_project == local.target.project ? env.value : "projects/${local.secrets_project}/secrets/${env.value}"
              version = "latest"
            }
          }
        }
      }

      volume_mounts {
        name       = "document"
        mount_path = "/etc/trestle"
      }

      volume_mounts {
        name       = "data"
        mount_path = "/var/lib/trestle"
      }

      startup_probe {
        period_seconds    = 2
        failure_threshold = 60
        http_get {
          path = "/readyz"
          port = module.core.ports.clients
        }
      }

      liveness_probe {
        period_seconds    = 10
        failure_threshold = 6
        http_get {
          path = "/healthz"
          port = module.core.ports.clients
        }
      }
    }

    volumes {
      name = "document"
      secret {
        secret = google_secret_manager_secret.document.secret_id
        items {
          path    = "gateway.yaml"
          version = google_secret_manager_secret_version.document.version
        }
      }
    }

    volumes {
      name = "data"
      empty_dir {
        medium     = "MEMORY"
        size_limit = "${floor(var.size.memory_mib / 2)}Mi"
      }
    }

    dynamic "vpc_access" {
      for_each = local.target.network == null && local.target.subnetwork == null ? [] : [true]
      content {
        egress = "PRIVATE_RANGES_ONLY"
        network_interfaces {
          network    = local.target.network
          subnetwork = local.target.subnetwork
        }
      }
    }
  }

  lifecycle {
    precondition {
      condition     = var.document != ""
      error_message = "document is needed on cloud_run: nothing that the admin API changes would last there."
    }
    precondition {
      condition     = var.certificate == ""
      error_message = "certificate is not for cloud_run, which has its own; for a domain of yours put a load balancer in front."
    }
    precondition {
      condition     = length(var.allowed_cidrs) == 0
      error_message = "allowed_cidrs is not for cloud_run, which cannot look at addresses; Cloud Armor on a load balancer in front can."
    }
  }

  depends_on = [google_secret_manager_secret_iam_member.this, google_secret_manager_secret_iam_member.document]
}
