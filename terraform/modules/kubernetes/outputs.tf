output "client_url" {
  description = "Where clients connect."
  value       = "${local.scheme}://${local.host}${var.host != "" || local.load_balancer ? "" : ":${local.port}"}"
}

output "admin_url" {
  description = "The admin API and the metrics, for who is in the network: plain HTTP."
  value       = "http://${var.name}-admin.${local.target.namespace}.svc:${module.core.ports.admin}"
}

output "secret_names" {
  description = "Where the secrets are; never what they are."
  value = {
    node          = local.target.secret != "" ? local.target.secret : "${var.name}-secrets"
    mesh          = local.target.mesh_secret != "" ? local.target.mesh_secret : "${var.name}-mesh"
    provider_keys = var.provider_keys
  }
}

output "node_names" {
  description = "The names of the nodes, as `trestle cluster members` shows them; null for one that is alone."
  value       = module.core.node_names
}

output "quorum" {
  description = "How many nodes vote, how many of them must be there, and how many may be away."
  value       = { voters = module.core.voters, quorum = module.core.quorum, losses = module.core.losses }
}

output "identity" {
  description = "Who the nodes are to the cloud."
  value       = "${local.target.namespace}/${var.name}"
}

output "chart_values" {
  description = "The values that the chart was given, before `target.values`; null where there is no chart."
  value       = local.chart_values
}

output "namespace" {
  description = "The namespace, once it is there; null where there is none."
  value       = local.namespace
}
