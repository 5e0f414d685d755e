# The root module: the platform is a word, and the rest stays as it is. Needs Terraform 1.15.

provider "kubernetes" {
  config_path = "~/.kube/config"
}

provider "helm" {
  kubernetes = { config_path = "~/.kube/config" }
}

variable "repository" {
  description = "Where the image is, with its registry."
  type        = string
}

module "trestle" {
  source = "../.."

  platform      = "kubernetes"
  replicas      = 3
  image         = { repository = var.repository }
  document      = file("${path.module}/../gateway.yaml")
  provider_keys = { OPENAI_API_KEY = "vendors/openai" }
}

output "client_url" {
  description = "Where clients connect."
  value       = module.trestle.client_url
}
