# The Helm chart in a cluster that is there. The modules of clouds add an identity and bring secrets; this one makes the release.

module "core" {
  source = "../core"

  platform      = "kubernetes"
  name          = var.name
  replicas      = var.replicas
  image         = var.image
  document      = var.document
  authoritative = var.authoritative
  provider_keys = var.provider_keys
  environment   = var.environment
  size          = var.size
  public        = var.public
  allowed_cidrs = var.allowed_cidrs
  encrypted     = local.encrypted
  idle_seconds  = local.target.idle_seconds
}

locals {
  at_node       = var.certificate != "" && !local.target.balancer_tls
  encrypted     = var.certificate != ""
  load_balancer = local.target.load_balancer || var.public
  port          = local.load_balancer ? (local.encrypted ? 443 : 80) : module.core.ports.clients
  scheme        = local.encrypted ? "https" : "http"
  service       = "${var.name}.${local.target.namespace}.svc"
  host          = var.host != "" ? var.host : local.service

  chart_values = merge(module.core.chart_values, {
    commonLabels = var.labels
    providerKeys = {
      env = { for name, place in var.provider_keys : name => { name = split("/", place)[0], key = try(split("/", place)[1], "") } }
    }
    secrets = { existingSecret = local.target.secret }
    mesh = {
      tls = {
        existingSecret = local.target.mesh_secret
        certManager    = { enabled = local.target.mesh_issuer != null, issuerRef = merge({}, local.target.mesh_issuer) }
      }
    }
    persistence = merge(module.core.chart_values.persistence, { storageClass = local.target.storage_class })
    service = {
      type                     = local.load_balancer ? "LoadBalancer" : "ClusterIP"
      port                     = local.port
      annotations              = local.target.annotations
      loadBalancerSourceRanges = local.load_balancer ? var.allowed_cidrs : []
    }
    tls            = { enabled = local.at_node, existingSecret = local.at_node ? var.certificate : "" }
    identity       = local.target.identity
    podAnnotations = local.target.pod_annotations
    serviceAccount = { create = true, name = var.name }
    serviceMonitor = { enabled = local.target.monitoring, labels = local.target.monitoring_labels }
    prometheusRule = { enabled = local.target.monitoring, labels = local.target.monitoring_labels }
    dashboards     = { enabled = local.target.monitoring }
  })
}

resource "kubernetes_namespace_v1" "this" {
  count = local.target.create_namespace ? 1 : 0

  metadata {
    name   = local.target.namespace
    labels = merge(var.labels, { "pod-security.kubernetes.io/enforce" = "restricted" })
  }
}

resource "helm_release" "this" {
  name       = var.name
  namespace  = local.namespace
  chart      = local.target.chart
  repository = local.target.chart_repository
  version    = local.target.chart_version
  values     = [yamlencode(local.chart_values), yamlencode(local.target.values)]
  wait       = true
  timeout    = local.target.wait_minutes * 60

  lifecycle {
    precondition {
      condition     = alltrue([for place in values(var.provider_keys) : can(regex("^[a-z0-9.-]+/[A-Za-z0-9._-]+$", place))])
      error_message = "On kubernetes provider_keys names secrets of the namespace as SECRET/KEY, such as OPENAI_API_KEY = \"vendors/openai\"."
    }
  }
}

locals {
  # By way of the resource, so that the namespace is there first.
  namespace = local.target.create_namespace ? kubernetes_namespace_v1.this[0].metadata[0].name : local.target.namespace
}
