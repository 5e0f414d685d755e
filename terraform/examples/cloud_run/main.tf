# One node, for those that need no cluster.

provider "google" {
  project = var.project
}

variable "project" {
  description = "The project."
  type        = string
}

variable "location" {
  description = "The region."
  type        = string
}

variable "repository" {
  description = "Where the image is, with its registry."
  type        = string
}

module "trestle" {
  source = "../../modules/cloud_run"

  image         = { repository = var.repository }
  document      = file("${path.module}/../gateway.yaml")
  provider_keys = { OPENAI_API_KEY = "vendors-openai" }
  public        = true

  target = {
    project            = var.project
    location           = var.location
    root_token         = "trestle-root-token"
    key_encryption_key = "trestle-key-encryption-key"
  }
}

output "client_url" {
  description = "Where clients connect."
  value       = module.trestle.client_url
}
