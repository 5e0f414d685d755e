# A cluster of AKS that is there, with its OIDC issuer and Workload Identity.

provider "azurerm" {
  subscription_id = var.subscription

  features {}
}

data "azurerm_kubernetes_cluster" "this" {
  name                = var.cluster
  resource_group_name = var.resource_group
}

data "azurerm_key_vault" "this" {
  name                = var.key_vault
  resource_group_name = var.resource_group
}

provider "kubernetes" {
  host                   = data.azurerm_kubernetes_cluster.this.kube_config[0].host
  cluster_ca_certificate = try(base64decode(data.azurerm_kubernetes_cluster.this.kube_config[0].cluster_ca_certificate), "")
  client_certificate     = try(base64decode(data.azurerm_kubernetes_cluster.this.kube_config[0].client_certificate), "")
  client_key             = try(base64decode(data.azurerm_kubernetes_cluster.this.kube_config[0].client_key), "")
}

provider "helm" {
  kubernetes = {
    host                   = data.azurerm_kubernetes_cluster.this.kube_config[0].host
    cluster_ca_certificate = try(base64decode(data.azurerm_kubernetes_cluster.this.kube_config[0].cluster_ca_certificate), "")
    client_certificate     = try(base64decode(data.azurerm_kubernetes_cluster.this.kube_config[0].client_certificate), "")
    client_key             = try(base64decode(data.azurerm_kubernetes_cluster.this.kube_config[0].client_key), "")
  }
}

variable "subscription" {
  description = "The subscription."
  type        = string
}

variable "resource_group" {
  description = "The resource group of cluster and Key Vault."
  type        = string
}

variable "cluster" {
  description = "The name of the cluster."
  type        = string
}

variable "key_vault" {
  description = "The name of the Key Vault."
  type        = string
}

variable "repository" {
  description = "Where the image is, with its registry."
  type        = string
}

module "trestle" {
  source = "../../modules/aks"

  replicas      = 3
  image         = { repository = var.repository }
  document      = file("${path.module}/../gateway.yaml")
  provider_keys = { OPENAI_API_KEY = "vendors-openai" }

  target = {
    resource_group_name = var.resource_group
    location            = data.azurerm_kubernetes_cluster.this.location
    oidc_issuer_url     = data.azurerm_kubernetes_cluster.this.oidc_issuer_url
    key_vault_id        = data.azurerm_key_vault.this.id
    release             = { load_balancer = true, storage_class = "managed-csi-premium" }
  }
}

output "client_url" {
  description = "Where clients connect."
  value       = module.trestle.client_url
}
