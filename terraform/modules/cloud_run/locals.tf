# The members of `target`, see README.md.
locals {
  required = ["project", "location", "root_token", "key_encryption_key"]
  defaults = {
    roles               = []
    secrets_project     = null
    timeout_seconds     = 3600
    concurrency         = 1000
    network             = null
    subnetwork          = null
    deletion_protection = true
  }
  target = merge(local.defaults, var.target)

  secrets_project = local.target.secrets_project != null ? local.target.secrets_project : local.target.project

  # Variables of the environment that hold secrets, by the names of those.
  secrets = merge(var.provider_keys, {
    GATEWAY_ROOT_TOKEN         = local.target.root_token
    GATEWAY_KEY_ENCRYPTION_KEY = local.target.key_encryption_key
  })

  # One instance is one node that is alone: no secret of a cluster, no seeds. The document is its only source, since the disk does not last.
  environment = merge({ TRESTLE_LEDGER_BYTES_MAX = tostring(floor(var.size.memory_mib / 4) * 1024 * 1024) }, module.core.environment, {
    TRESTLE_DOCUMENT           = "/etc/trestle/gateway.yaml"
    TRESTLE_AUTHORITATIVE      = "true"
    TRESTLE_ROOT_TOKEN         = "env:GATEWAY_ROOT_TOKEN"
    TRESTLE_KEY_ENCRYPTION_KEY = "env:GATEWAY_KEY_ENCRYPTION_KEY"
  })
}
