# The members of `target`, see README.md.
locals {
  required = ["project"]
  defaults = {
    workload_pool    = null
    roles            = []
    secrets_project  = null
    secrets_revision = 1
    release          = {}
  }
  target = merge(local.defaults, var.target)

  pool      = local.target.workload_pool != null ? local.target.workload_pool : "${local.target.project}.svc.id.goog"
  namespace = try(local.target.release.namespace, "trestle")
  secret    = "${var.name}-provider-keys"
  balanced  = var.public || try(local.target.release.load_balancer, false)

  annotations = local.balanced && !var.public ? { "networking.gke.io/load-balancer-type" = "Internal" } : {}
}
