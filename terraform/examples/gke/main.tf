# A cluster of GKE that is there, with Workload Identity.

provider "google" {
  project = var.project
}

data "google_client_config" "this" {}

data "google_container_cluster" "this" {
  project  = var.project
  name     = var.cluster
  location = var.location
}

provider "kubernetes" {
  host                   = "https://${data.google_container_cluster.this.endpoint}"
  cluster_ca_certificate = try(base64decode(data.google_container_cluster.this.master_auth[0].cluster_ca_certificate), "")
  token                  = data.google_client_config.this.access_token
}

provider "helm" {
  kubernetes = {
    host                   = "https://${data.google_container_cluster.this.endpoint}"
    cluster_ca_certificate = try(base64decode(data.google_container_cluster.this.master_auth[0].cluster_ca_certificate), "")
    token                  = data.google_client_config.this.access_token
  }
}

variable "project" {
  description = "The project of the cluster."
  type        = string
}

variable "location" {
  description = "The region or zone of the cluster."
  type        = string
}

variable "cluster" {
  description = "The name of the cluster."
  type        = string
}

variable "repository" {
  description = "Where the image is, with its registry."
  type        = string
}

module "trestle" {
  source = "../../modules/gke"

  replicas      = 3
  image         = { repository = var.repository }
  document      = file("${path.module}/../gateway.yaml")
  provider_keys = { OPENAI_API_KEY = "vendors-openai" }

  target = {
    project = var.project
    roles   = ["roles/aiplatform.user"]
    release = { load_balancer = true, storage_class = "premium-rwo" }
  }
}

output "client_url" {
  description = "Where clients connect."
  value       = module.trestle.client_url
}
