# An identity for the pods (Workload Identity), keys out of a Key Vault, and the chart.

resource "azurerm_user_assigned_identity" "this" {
  name                = var.name
  resource_group_name = local.target.resource_group_name
  location            = local.target.location
  tags                = var.labels
}

resource "azurerm_federated_identity_credential" "this" {
  name                = var.name
  resource_group_name = local.target.resource_group_name
  parent_id           = azurerm_user_assigned_identity.this.id
  audience            = ["api://AzureADTokenExchange"]
  issuer              = local.target.oidc_issuer_url
  subject             = "system:serviceaccount:${local.namespace}:${var.name}"
}

resource "azurerm_role_assignment" "this" {
  for_each = { for grant in local.target.roles : "${grant.role} on ${grant.scope}" => grant }

  scope                = each.value.scope
  role_definition_name = each.value.role
  principal_id         = azurerm_user_assigned_identity.this.principal_id
  principal_type       = "ServicePrincipal"
}

ephemeral "azurerm_key_vault_secret" "provider_key" {
  for_each = var.provider_keys

  key_vault_id = local.target.key_vault_id
  name         = each.value
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

  data_wo          = { for name, secret in ephemeral.azurerm_key_vault_secret.provider_key : name => secret.value }
  data_wo_revision = local.target.secrets_revision

  lifecycle {
    precondition {
      condition     = local.target.key_vault_id != null
      error_message = "provider_keys on aks are secrets of a Key Vault: target.key_vault_id has to say of which."
    }
  }
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
    # The annotation below keeps idle connections for 30 minutes; nodes close theirs later.
    idle_seconds    = 1800
    load_balancer   = local.balanced
    identity        = { azure = { clientId = azurerm_user_assigned_identity.this.client_id } }
    annotations     = merge(local.annotations, try(local.target.release.annotations, {}))
    pod_annotations = merge({ "trestle/secrets-revision" = tostring(local.target.secrets_revision) }, try(local.target.release.pod_annotations, {}))
  })

  # Pods get tokens only once the credential is there.
  depends_on = [azurerm_federated_identity_credential.this]
}
