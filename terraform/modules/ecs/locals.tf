# The members of `target`, see README.md.
locals {
  required = [
    "region", "cluster_arn", "vpc_id", "subnet_ids", "balancer_subnet_ids", "cluster_secret", "mesh_certificate", "root_token", "key_encryption_key",
  ]
  defaults = {
    files_image          = "public.ecr.aws/docker/library/busybox:1.37"
    admin_cidrs          = []
    bedrock_models       = []
    policy_arns          = []
    permissions_boundary = null
    kms_key_arn          = null
    logs_days            = 30
    idle_seconds         = 900
    access_logs_bucket   = null
    web_acl_arn          = null
    assign_public_ip     = false
    deletion_protection  = true
    architecture         = "X86_64"
  }
  target = merge(local.defaults, var.target)

  nodes     = toset(module.core.node_names)
  ports     = module.core.ports
  encrypted = var.certificate != ""
  port      = local.encrypted ? 443 : 80
  # The nodes that founded the cluster: the list stays when nodes come, so that those that run are not restarted.
  seeds = [for index in range(module.core.bootstrap_expect) : "${var.name}-${index}.${local.zone}:${local.ports.gossip}"]
  zone  = "${var.name}.internal"

  # A task sees secrets as variables of its environment alone, and the image has no shell: a container that runs before the node writes
  # those that have to be files into a folder that both have, in memory of the task.
  files = "/run/trestle"
  write = <<-EOT
    set -eu; umask 077; cd ${local.files}; mkdir -p mesh
    printf '%s\n' "$CLUSTER_SECRET" > cluster-secret
    printf '%s\n' "$MESH_CERTIFICATE" > mesh/tls.crt
    printf '%s\n' "$MESH_KEY" > mesh/tls.key
    printf '%s\n' "$MESH_AUTHORITY" > mesh/ca.crt
    printf '%s' "$DOCUMENT" | base64 -d > gateway.yaml
    chown -R 65532:65532 .
  EOT

  write_secrets = {
    CLUSTER_SECRET   = local.target.cluster_secret
    MESH_CERTIFICATE = "${local.target.mesh_certificate}:tls_crt::"
    MESH_KEY         = "${local.target.mesh_certificate}:tls_key::"
    MESH_AUTHORITY   = "${local.target.mesh_certificate}:ca_crt::"
  }
  node_secrets = merge(var.provider_keys, {
    GATEWAY_ROOT_TOKEN         = local.target.root_token
    GATEWAY_KEY_ENCRYPTION_KEY = local.target.key_encryption_key
  })
  secret_arns = distinct(concat(
    [local.target.cluster_secret, local.target.mesh_certificate, local.target.root_token, local.target.key_encryption_key],
    values(var.provider_keys),
  ))

  environment = merge(
    { TRESTLE_LEDGER_BYTES_MAX = tostring(var.size.disk_gib * 768 * 1024 * 1024) },
    module.core.environment,
    {
      TRESTLE_ADMIN_LISTEN        = "0.0.0.0:${local.ports.admin}"
      TRESTLE_BOOTSTRAP_EXPECT    = tostring(module.core.bootstrap_expect)
      TRESTLE_CLUSTER_SECRET_FILE = "${local.files}/cluster-secret"
      TRESTLE_KEY_ENCRYPTION_KEY  = "env:GATEWAY_KEY_ENCRYPTION_KEY"
      TRESTLE_MESH_TLS_DIR        = "${local.files}/mesh"
      TRESTLE_ROOT_TOKEN          = "env:GATEWAY_ROOT_TOKEN"
      TRESTLE_SEEDS               = join(",", local.seeds)
    },
    var.document == "" ? {} : {
      TRESTLE_DOCUMENT      = "${local.files}/gateway.yaml"
      TRESTLE_AUTHORITATIVE = tostring(var.authoritative)
    },
  )
}
