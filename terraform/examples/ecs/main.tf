# A cluster of ECS and a network that are there. After the first apply change nodes one after another: `terraform apply -parallelism=1`.

provider "aws" {
  region = var.region
}

variable "region" {
  description = "The region."
  type        = string
}

variable "cluster_arn" {
  description = "The cluster of ECS."
  type        = string
}

variable "vpc_id" {
  description = "The network."
  type        = string
}

variable "private_subnet_ids" {
  description = "Subnets with a way out, one in each zone."
  type        = list(string)
}

variable "public_subnet_ids" {
  description = "Subnets for the load balancer."
  type        = list(string)
}

variable "secrets" {
  description = "ARNs of secrets: cluster_secret, mesh_certificate, root_token, key_encryption_key, openai."
  type        = map(string)
}

variable "certificate" {
  description = "ARN of a certificate in ACM."
  type        = string
}

variable "repository" {
  description = "Where the image is, with its registry."
  type        = string
}

module "trestle" {
  source = "../../modules/ecs"

  replicas      = 3
  image         = { repository = var.repository }
  document      = file("${path.module}/../gateway.yaml")
  provider_keys = { OPENAI_API_KEY = var.secrets.openai }
  public        = true
  allowed_cidrs = ["0.0.0.0/0"]
  certificate   = var.certificate
  host          = "gateway.example.com"

  target = {
    region              = var.region
    cluster_arn         = var.cluster_arn
    vpc_id              = var.vpc_id
    subnet_ids          = var.private_subnet_ids
    balancer_subnet_ids = var.public_subnet_ids
    cluster_secret      = var.secrets.cluster_secret
    mesh_certificate    = var.secrets.mesh_certificate
    root_token          = var.secrets.root_token
    key_encryption_key  = var.secrets.key_encryption_key
  }
}

output "client_url" {
  description = "Where clients connect."
  value       = module.trestle.client_url
}
