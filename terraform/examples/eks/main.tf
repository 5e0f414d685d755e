# A cluster of EKS that is there, with an OIDC provider in IAM and the AWS Load Balancer Controller.

provider "aws" {
  region = var.region
}

data "aws_eks_cluster" "this" {
  name = var.cluster
}

data "aws_eks_cluster_auth" "this" {
  name = var.cluster
}

data "aws_iam_openid_connect_provider" "this" {
  url = data.aws_eks_cluster.this.identity[0].oidc[0].issuer
}

provider "kubernetes" {
  host                   = data.aws_eks_cluster.this.endpoint
  cluster_ca_certificate = try(base64decode(data.aws_eks_cluster.this.certificate_authority[0].data), "")
  token                  = data.aws_eks_cluster_auth.this.token
}

provider "helm" {
  kubernetes = {
    host                   = data.aws_eks_cluster.this.endpoint
    cluster_ca_certificate = try(base64decode(data.aws_eks_cluster.this.certificate_authority[0].data), "")
    token                  = data.aws_eks_cluster_auth.this.token
  }
}

variable "region" {
  description = "The region of the cluster."
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

variable "certificate" {
  description = "ARN of a certificate in ACM."
  type        = string
}

module "trestle" {
  source = "../../modules/eks"

  replicas      = 3
  image         = { repository = var.repository }
  document      = file("${path.module}/../gateway.yaml")
  provider_keys = { OPENAI_API_KEY = "vendors/openai" }
  certificate   = var.certificate
  allowed_cidrs = ["10.0.0.0/8"]
  host          = "gateway.example.com"

  target = {
    oidc_provider_arn = data.aws_iam_openid_connect_provider.this.arn
    bedrock_models    = ["arn:aws:bedrock:${var.region}::foundation-model/anthropic.claude-sonnet-4-5-20250929-v1:0"]
    release           = { load_balancer = true, storage_class = "gp3" }
  }
}

output "client_url" {
  description = "Where clients connect."
  value       = module.trestle.client_url
}
