# Any cluster that there is a kubeconfig for. The key of the vendor is in the secret `vendors` of the namespace, which is there.

provider "kubernetes" {
  config_path = var.kubeconfig
}

provider "helm" {
  kubernetes = { config_path = var.kubeconfig }
}

variable "kubeconfig" {
  description = "The kubeconfig of the cluster."
  type        = string
  default     = "~/.kube/config"
}

variable "repository" {
  description = "Where the image is, with its registry."
  type        = string
}

module "trestle" {
  source = "../../modules/kubernetes"

  replicas      = 3
  image         = { repository = var.repository }
  document      = file("${path.module}/../gateway.yaml")
  provider_keys = { OPENAI_API_KEY = "vendors/openai" }

  target = {
    namespace        = "trestle"
    create_namespace = false
  }
}

output "client_url" {
  description = "Where clients connect."
  value       = module.trestle.client_url
}
