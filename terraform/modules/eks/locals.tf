# The members of `target`, see README.md.
locals {
  required = ["oidc_provider_arn"]
  defaults = {
    bedrock_models       = []
    policy_arns          = []
    permissions_boundary = null
    subnet_ids           = []
    secrets_revision     = 1
    release              = {}
  }
  target = merge(local.defaults, var.target)

  # What the issuer calls itself stands behind the name of the resource.
  issuer    = try(split(":oidc-provider/", local.target.oidc_provider_arn)[1], "")
  namespace = try(local.target.release.namespace, "trestle")
  secret    = "${var.name}-provider-keys"
  balanced  = var.public || try(local.target.release.load_balancer, false)

  # The AWS Load Balancer Controller makes a network load balancer of these; one of the cloud provider in Kubernetes reads them likewise.
  annotations = local.balanced ? merge(
    {
      "service.beta.kubernetes.io/aws-load-balancer-type"                              = "external"
      "service.beta.kubernetes.io/aws-load-balancer-nlb-target-type"                   = "ip"
      "service.beta.kubernetes.io/aws-load-balancer-scheme"                            = var.public ? "internet-facing" : "internal"
      "service.beta.kubernetes.io/aws-load-balancer-cross-zone-load-balancing-enabled" = "true"
      "service.beta.kubernetes.io/aws-load-balancer-healthcheck-protocol"              = "http"
      "service.beta.kubernetes.io/aws-load-balancer-healthcheck-path"                  = "/readyz"
    },
    var.certificate == "" ? {} : {
      "service.beta.kubernetes.io/aws-load-balancer-ssl-cert"               = var.certificate
      "service.beta.kubernetes.io/aws-load-balancer-ssl-ports"              = "443"
      "service.beta.kubernetes.io/aws-load-balancer-ssl-negotiation-policy" = "ELBSecurityPolicy-TLS13-1-2-2021-06"
    },
    length(local.target.subnet_ids) == 0 ? {} : {
      "service.beta.kubernetes.io/aws-load-balancer-subnets" = join(",", local.target.subnet_ids)
    },
  ) : {}
}
