# The members of `target`, see README.md.
locals {
  required = ["resource_group_name", "location", "oidc_issuer_url"]
  defaults = {
    key_vault_id     = null
    roles            = []
    subnet_name      = null
    secrets_revision = 1
    release          = {}
  }
  target = merge(local.defaults, var.target)

  namespace = try(local.target.release.namespace, "trestle")
  secret    = "${var.name}-provider-keys"
  balanced  = var.public || try(local.target.release.load_balancer, false)

  annotations = local.balanced ? merge(
    { "service.beta.kubernetes.io/azure-load-balancer-tcp-idle-timeout" = "30" },
    var.public ? {} : { "service.beta.kubernetes.io/azure-load-balancer-internal" = "true" },
    local.target.subnet_name == null ? {} : { "service.beta.kubernetes.io/azure-load-balancer-internal-subnet" = local.target.subnet_name },
  ) : {}
}
