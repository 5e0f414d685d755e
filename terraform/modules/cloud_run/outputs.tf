output "client_url" {
  description = "Where clients connect."
  value       = var.host != "" ? "https://${var.host}" : google_cloud_run_v2_service.this.uri
}

output "admin_url" {
  description = "The admin API and the metrics: on the listener of clients here, behind admin tokens."
  value       = google_cloud_run_v2_service.this.uri
}

output "secret_names" {
  description = "Where the secrets are; never what they are."
  value = {
    node          = { root_token = local.target.root_token, key_encryption_key = local.target.key_encryption_key }
    mesh          = null
    provider_keys = var.provider_keys
  }
}

output "node_names" {
  description = "The names of the nodes, as `trestle cluster members` shows them; null for one that is alone."
  value       = null
}

output "quorum" {
  description = "How many nodes vote, how many of them must be there, and how many may be away."
  value       = { voters = module.core.voters, quorum = module.core.quorum, losses = module.core.losses }
}

output "identity" {
  description = "Who the nodes are to the cloud."
  value       = google_service_account.this.email
}

output "chart_values" {
  description = "The values that the chart was given, before `target.values`; null where there is no chart."
  value       = null
}

output "namespace" {
  description = "The namespace, once it is there; null where there is none."
  value       = null
}
