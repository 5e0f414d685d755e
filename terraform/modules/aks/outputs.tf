output "client_url" {
  description = "Where clients connect."
  value       = module.release.client_url
}

output "admin_url" {
  description = "The admin API and the metrics, for who is in the network: plain HTTP."
  value       = module.release.admin_url
}

output "secret_names" {
  description = "Where the secrets are; never what they are."
  value       = merge(module.release.secret_names, { provider_keys = var.provider_keys })
}

output "node_names" {
  description = "The names of the nodes, as `trestle cluster members` shows them; null for one that is alone."
  value       = module.release.node_names
}

output "quorum" {
  description = "How many nodes vote, how many of them must be there, and how many may be away."
  value       = module.release.quorum
}

output "identity" {
  description = "Who the nodes are to the cloud."
  value       = azurerm_user_assigned_identity.this.client_id
}

output "chart_values" {
  description = "The values that the chart was given, before `target.values`; null where there is no chart."
  value       = module.release.chart_values
}

output "namespace" {
  description = "The namespace, once it is there; null where there is none."
  value       = module.release.namespace
}
