# What all platforms have in common, without a provider: it is tested as it is, and nothing here needs a credential.

locals {
  # The first nodes vote: the largest odd number of them, at most 7.
  voters = min(7, var.replicas % 2 == 1 ? var.replicas : var.replicas - 1)
  quorum = floor(local.voters / 2) + 1

  ports = { clients = 8080, admin = 8081, gossip = 10101, mesh = 10102 }

  repository = var.image.repository
  image      = var.image.digest != "" ? "${local.repository}@${var.image.digest}" : "${local.repository}:${var.image.tag}"

  document = var.document == "" ? {} : try({ for name, entry in yamldecode(var.document) : name => entry }, {})
  keys = flatten([
    for provider in try(values(local.document.providers), []) : [for key in try(provider.keys, []) : try(tostring(key.value), "")]
  ])
  asked = toset([for value in local.keys : trimprefix(value, "env:") if startswith(value, "env:")])
  given = toset(concat(keys(var.provider_keys), keys(var.environment)))

  reserved = [
    "TRESTLE_ADMIN_LISTEN", "TRESTLE_AUTHORITATIVE", "TRESTLE_BOOTSTRAP_EXPECT", "TRESTLE_CLUSTER_SECRET_FILE", "TRESTLE_DATA_DIR",
    "TRESTLE_DOCUMENT", "TRESTLE_DRAIN_MS", "TRESTLE_IDLE_TIMEOUT_MS", "TRESTLE_KEY_ENCRYPTION_KEY", "TRESTLE_LISTEN", "TRESTLE_MESH_ADDRESS",
    "TRESTLE_MESH_TLS_DIR", "TRESTLE_NODE_NAME", "TRESTLE_ROOT_TOKEN", "TRESTLE_SEEDS",
  ]

  # Memory in MiB that Fargate has for so many units of CPU.
  fargate = {
    256   = [512, 1024, 2048]
    512   = [for gib in range(1, 5) : gib * 1024]
    1024  = [for gib in range(2, 9) : gib * 1024]
    2048  = [for gib in range(4, 17) : gib * 1024]
    4096  = [for gib in range(8, 31) : gib * 1024]
    8192  = [for gib in range(16, 61, 4) : gib * 1024]
    16384 = [for gib in range(32, 121, 8) : gib * 1024]
  }

  idle_seconds = var.idle_seconds + 15

  # For platforms where a node is told of its settings by its environment alone.
  environment = merge(var.environment, {
    TRESTLE_DATA_DIR        = "/var/lib/trestle"
    TRESTLE_LISTEN          = "0.0.0.0:${local.ports.clients}"
    TRESTLE_DRAIN_MS        = tostring(var.drain_seconds * 1000)
    TRESTLE_IDLE_TIMEOUT_MS = tostring(local.idle_seconds * 1000)
  })
}

# The number of nodes that founded the cluster. It has to stay when nodes come or go later: otherwise each change of `replicas` would
# change the settings of all nodes and restart them.
resource "terraform_data" "founded" {
  input = var.replicas

  lifecycle {
    ignore_changes = [input]
  }
}

check "odd_replicas" {
  assert {
    condition     = var.replicas % 2 == 1
    error_message = "replicas is ${var.replicas}, an even number: ${local.voters} of the nodes vote, so that it survives the loss of ${local.voters - local.quorum} of those that vote, no more than with ${var.replicas - 1} nodes."
  }
}

check "single_node" {
  assert {
    condition     = var.replicas > 1 || var.platform == "cloud_run"
    error_message = "One node: while it is away nothing is served."
  }
}

check "provider_keys" {
  assert {
    condition     = length(setsubtract(local.asked, local.given)) == 0
    error_message = "The document refers to variables that provider_keys does not give, so those keys are disabled: ${join(", ", setsubtract(local.asked, local.given))}."
  }
}
