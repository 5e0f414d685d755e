# The members of `target`, see README.md.
locals {
  required = []
  defaults = {
    namespace         = "trestle"
    create_namespace  = true
    chart             = "${path.module}/../../../charts/trestle"
    chart_repository  = null
    chart_version     = null
    wait_minutes      = 20
    secret            = ""
    mesh_secret       = ""
    mesh_issuer       = null
    storage_class     = ""
    load_balancer     = false
    annotations       = {}
    pod_annotations   = {}
    identity          = {}
    balancer_tls      = false
    idle_seconds      = 60
    monitoring        = false
    monitoring_labels = {}
    values            = {}
  }
  target = merge(local.defaults, var.target)
}
