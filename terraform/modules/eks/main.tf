# A role for the pods (IRSA), keys out of Secrets Manager, and the chart.

resource "aws_iam_role" "this" {
  name_prefix          = "${var.name}-"
  permissions_boundary = local.target.permissions_boundary
  tags                 = var.labels

  assume_role_policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Effect    = "Allow"
      Action    = "sts:AssumeRoleWithWebIdentity"
      Principal = { Federated = local.target.oidc_provider_arn }
      Condition = {
        StringEquals = {
          "${local.issuer}:aud" = "sts.amazonaws.com"
          "${local.issuer}:sub" = "system:serviceaccount:${local.namespace}:${var.name}"
        }
      }
    }]
  })

  lifecycle {
    precondition {
      condition     = local.issuer != ""
      error_message = "target.oidc_provider_arn is \"${local.target.oidc_provider_arn}\"; it must be the ARN of the cluster's OIDC provider in IAM, arn:aws:iam::ACCOUNT:oidc-provider/ISSUER."
    }
  }
}

resource "aws_iam_role_policy" "bedrock" {
  count = length(local.target.bedrock_models) > 0 ? 1 : 0

  name = "bedrock"
  role = aws_iam_role.this.id
  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Effect   = "Allow"
      Action   = ["bedrock:InvokeModel", "bedrock:InvokeModelWithResponseStream"]
      Resource = local.target.bedrock_models
    }]
  })
}

resource "aws_iam_role_policy_attachment" "this" {
  for_each = toset(local.target.policy_arns)

  role       = aws_iam_role.this.name
  policy_arn = each.value
}

ephemeral "aws_secretsmanager_secret_version" "provider_key" {
  for_each = var.provider_keys

  secret_id = each.value
}

# The keys go from the secrets manager into the cluster and into no plan and no state: what is ephemeral is written by `data_wo` alone.
# Terraform does not see that one has changed; `target.secrets_revision` tells it.
resource "kubernetes_secret_v1" "provider_keys" {
  count = length(var.provider_keys) > 0 ? 1 : 0

  metadata {
    name      = local.secret
    namespace = module.release.namespace
    labels    = var.labels
  }

  data_wo          = { for name, secret in ephemeral.aws_secretsmanager_secret_version.provider_key : name => secret.secret_string }
  data_wo_revision = local.target.secrets_revision
}

module "release" {
  source = "../kubernetes"

  name          = var.name
  replicas      = var.replicas
  image         = var.image
  document      = var.document
  authoritative = var.authoritative
  environment   = var.environment
  size          = var.size
  public        = var.public
  allowed_cidrs = var.allowed_cidrs
  certificate   = var.certificate
  host          = var.host
  labels        = var.labels
  provider_keys = { for name in keys(var.provider_keys) : name => "${kubernetes_secret_v1.provider_keys[0].metadata[0].name}/${name}" }

  target = merge(local.target.release, {
    # A network load balancer keeps idle connections for 350 s.
    idle_seconds    = 350
    balancer_tls    = true
    load_balancer   = local.balanced
    identity        = { aws = { roleArn = aws_iam_role.this.arn } }
    annotations     = merge(local.annotations, try(local.target.release.annotations, {}))
    pod_annotations = merge({ "trestle/secrets-revision" = tostring(local.target.secrets_revision) }, try(local.target.release.pod_annotations, {}))
  })
}
