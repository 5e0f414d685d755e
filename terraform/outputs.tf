output "client_url" {
  description = "Where clients connect."
  value       = module.platform.client_url
}

output "admin_url" {
  description = "The admin API and the metrics, for who is in the network: plain HTTP."
  value       = module.platform.admin_url
}

output "secret_names" {
  description = "Where the secrets are; never what they are."
  value       = module.platform.secret_names
}

output "node_names" {
  description = "The names of the nodes, as `trestle cluster members` shows them; null for one that is alone."
  value       = module.platform.node_names
}

output "quorum" {
  description = "How many nodes vote, how many of them must be there, and how many may be away."
  value       = module.platform.quorum
}

output "identity" {
  description = "Who the nodes are to the cloud."
  value       = module.platform.identity
}

output "chart_values" {
  description = "The values that the chart was given, before `target.values`; null where there is no chart."
  value       = module.platform.chart_values
}

output "namespace" {
  description = "The namespace, once it is there; null where there is none."
  value       = module.platform.namespace
}
