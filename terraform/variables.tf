# `platform`, and the variables that all platforms have; the platform's module checks what they mean.

variable "platform" {
  description = "Where it runs: eks, ecs, gke, cloud_run, aks or kubernetes. Known at `init`, which installs the providers of this one alone."
  type        = string
  const       = true
  default     = "kubernetes"

  validation {
    condition     = contains(["eks", "ecs", "gke", "cloud_run", "aks", "kubernetes"], var.platform)
    error_message = "platform is \"${var.platform}\"; it must be eks, ecs, gke, cloud_run, aks or kubernetes."
  }
}

variable "name" {
  description = "Begins the names of everything that is made."
  type        = string
  default     = "trestle"
}

variable "replicas" {
  description = "How many nodes: 1 to 32, 3 where nothing is said and 1 on cloud_run. Odd numbers survive more."
  type        = number
  default     = null
}

variable "image" {
  description = "The image: `repository` with its registry, and `tag` or `digest`."
  type = object({
    repository = string
    tag        = optional(string, "0.1.0")
    digest     = optional(string, "")
  })
}

variable "document" {
  description = "The gateway document, YAML. It fills a new cluster, and stands in the state: secrets in it must be references."
  type        = string
  default     = ""
}

variable "authoritative" {
  description = "The document is what stands here, always; the admin API changes nothing."
  type        = bool
  default     = false
}

variable "provider_keys" {
  description = "Variables of the environment for `env:NAME` in the document, and where each is kept in the secrets manager of the platform; never the secret itself."
  type        = map(string)
  default     = {}
}

variable "environment" {
  description = "More variables of the environment of the nodes, such as `TRESTLE_LOG`; not for secrets."
  type        = map(string)
  default     = {}
}

variable "size" {
  description = "What a node has: `cpu` in processors, `memory_mib`, `disk_gib`."
  type = object({
    cpu        = optional(number, 1)
    memory_mib = optional(number, 2048)
    disk_gib   = optional(number, 20)
  })
  default = {}
}

variable "public" {
  description = "Whether clients reach it from the internet; needs a certificate and `allowed_cidrs`."
  type        = bool
  default     = false
}

variable "allowed_cidrs" {
  description = "Addresses that the load balancer lets in."
  type        = list(string)
  default     = []
}

variable "certificate" {
  description = "What clients are served by over TLS: an ARN in ACM on eks and ecs, a secret of the namespace on gke, aks and kubernetes; cloud_run has its own."
  type        = string
  default     = ""
}

variable "host" {
  description = "The name under which clients reach it, for `client_url`; its record in the DNS is yours to make."
  type        = string
  default     = ""
}

variable "labels" {
  description = "Labels or tags of everything that is made."
  type        = map(string)
  default     = {}
}

variable "target" {
  description = "What only this platform has; the module refuses members that it does not know."
  type        = any
  default     = {}
  nullable    = false
}
