output "voters" {
  description = "How many of the nodes vote."
  value       = local.voters
}

output "quorum" {
  description = "How many of those that vote must be there for changes of the document."
  value       = local.quorum
}

output "losses" {
  description = "How many of those that vote may be away at once."
  value       = local.voters - local.quorum
}

output "bootstrap_expect" {
  description = "How many nodes founded the cluster; it stays when `replicas` changes."
  value       = terraform_data.founded.output
}

output "node_names" {
  description = "The names of the nodes."
  value       = tolist([for index in range(var.replicas) : "${var.name}-${index}"])
}

output "ports" {
  description = "Ports of a node: clients, admin, gossip (UDP) and mesh."
  value       = local.ports
}

output "image" {
  description = "The image as one reference."
  value       = local.image
}

output "environment" {
  description = "Variables of the environment of every node, where no chart sets them."
  value       = local.environment
}

output "fargate" {
  description = "CPU units and MiB of a Fargate task."
  value       = { cpu = var.size.cpu * 1024, memory = var.size.memory_mib }
}

output "chart_values" {
  description = "What the values of the Helm chart are, but for what is of one platform."
  value = {
    fullnameOverride = var.name
    replicas         = var.replicas
    image            = { registry = "", repository = local.repository, tag = var.image.tag, digest = var.image.digest }
    document         = { content = local.document, authoritative = var.authoritative }
    node             = { idleTimeoutSeconds = local.idle_seconds, drainSeconds = var.drain_seconds }
    persistence      = { size = "${var.size.disk_gib}Gi" }
    resources = {
      requests = { cpu = tostring(var.size.cpu), memory = "${var.size.memory_mib}Mi" }
      limits   = { memory = "${var.size.memory_mib}Mi" }
    }
    extraEnv = [for name, value in var.environment : { name = name, value = value }]
  }
}
