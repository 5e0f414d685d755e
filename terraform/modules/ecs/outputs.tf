output "client_url" {
  description = "Where clients connect."
  value       = "${local.encrypted ? "https" : "http"}://${var.host != "" ? var.host : aws_lb.this.dns_name}"
}

output "admin_url" {
  description = "The admin API and the metrics, for who is in the network: plain HTTP."
  value       = "http://${module.core.node_names[0]}.${local.zone}:${local.ports.admin}"
}

output "secret_names" {
  description = "Where the secrets are; never what they are."
  value = {
    node = {
      cluster_secret     = local.target.cluster_secret
      root_token         = local.target.root_token
      key_encryption_key = local.target.key_encryption_key
    }
    mesh          = local.target.mesh_certificate
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
  value       = aws_iam_role.task.arn
}

output "chart_values" {
  description = "The values that the chart was given, before `target.values`; null where there is no chart."
  value       = null
}

output "namespace" {
  description = "The namespace, once it is there; null where there is none."
  value       = null
}
