# One module of ./modules, and so the providers of one platform alone: its folder is chosen before anything is installed.
module "platform" {
  source = "./modules/${var.platform}"

  name          = var.name
  replicas      = coalesce(var.replicas, var.platform == "cloud_run" ? 1 : 3)
  image         = var.image
  document      = var.document
  authoritative = var.authoritative
  provider_keys = var.provider_keys
  environment   = var.environment
  size          = var.size
  public        = var.public
  allowed_cidrs = var.allowed_cidrs
  certificate   = var.certificate
  host          = var.host
  labels        = var.labels
  target        = var.target
}
