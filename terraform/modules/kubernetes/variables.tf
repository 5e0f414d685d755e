# The same for all platforms; what they mean is checked in ../core.

variable "name" {
  description = "Begins the names of everything that is made."
  type        = string
  default     = "trestle"
}

variable "replicas" {
  description = "How many nodes: 1 to 32. Odd numbers survive more."
  type        = number
  default     = 3
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
  description = "Variables of the environment for `env:NAME` in the document, and where each is kept: `SECRET/KEY` in the namespace."
  type        = map(string)
  default     = {}

  validation {
    condition     = alltrue([for place in values(var.provider_keys) : !can(regex("^(sk-|AIza|gsk_|xai-|AKIA)", place))])
    error_message = "provider_keys holds what looks like a key itself. Put the key into the secrets manager and its name here: the state is no place for it."
  }
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
  description = "A secret of the namespace with `tls.crt` and `tls.key`, by which nodes serve clients over TLS."
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

# Not typed: an object type would drop a misspelt member without a word. The members are in locals.tf.
variable "target" {
  description = "What only this platform has."
  type        = any
  default     = {}
  nullable    = false

  validation {
    condition     = can(keys(var.target)) && length(setsubtract(try(keys(var.target), []), concat(local.required, keys(local.defaults)))) == 0
    error_message = "target has members that this platform does not know: ${join(", ", setsubtract(try(keys(var.target), []), concat(local.required, keys(local.defaults))))}. It knows ${join(", ", sort(concat(local.required, keys(local.defaults))))}."
  }

  validation {
    condition     = length(setsubtract(local.required, try(keys(var.target), []))) == 0
    error_message = "target lacks ${join(", ", setsubtract(local.required, try(keys(var.target), [])))}."
  }
}
