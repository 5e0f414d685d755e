variable "platform" {
  description = "Where it runs: eks, ecs, gke, cloud_run, aks or kubernetes."
  type        = string
  nullable    = false

  validation {
    condition     = contains(["eks", "ecs", "gke", "cloud_run", "aks", "kubernetes"], var.platform)
    error_message = "platform is \"${var.platform}\"; it must be eks, ecs, gke, cloud_run, aks or kubernetes."
  }
}

variable "name" {
  description = "Begins the names of everything that is made."
  type        = string
  default     = "trestle"
  nullable    = false

  validation {
    condition     = can(regex("^[a-z]([a-z0-9-]*[a-z0-9])?$", var.name)) && length(var.name) <= 24
    error_message = "name is \"${var.name}\"; it must be lower-case letters, digits and dashes, begin with a letter, end with none of the dashes, and have at most 24 characters, since names of clouds are made of it."
  }
}

variable "replicas" {
  description = "How many nodes."
  type        = number
  default     = 3
  nullable    = false

  validation {
    condition     = var.replicas >= 1 && var.replicas <= 32 && floor(var.replicas) == var.replicas
    error_message = "replicas is ${var.replicas}; it must be a whole number from 1 to 32."
  }

  validation {
    condition     = var.platform != "cloud_run" || var.replicas == 1
    error_message = "replicas is ${var.replicas}; on cloud_run it must be 1: it carries neither UDP nor calls between instances, so nodes there cannot be a cluster."
  }
}

variable "image" {
  description = "The image: `repository` with its registry, and `tag` or `digest`."
  type = object({
    repository = string
    tag        = optional(string, "0.1.0")
    digest     = optional(string, "")
  })
  nullable = false

  validation {
    condition     = can(regex("^[a-z0-9][a-z0-9._:/-]*$", var.image.repository)) && !can(regex(":[^/]*$", var.image.repository))
    error_message = "image.repository is \"${var.image.repository}\"; it must be a registry and a path, such as registry.example/trestle, without tag."
  }

  validation {
    condition     = var.image.digest == "" || can(regex("^sha256:[0-9a-f]{64}$", var.image.digest))
    error_message = "image.digest must be sha256: and 64 hexadecimal digits."
  }
}

variable "document" {
  description = "The gateway document, YAML. It fills a new cluster, and stands in the state: secrets in it must be references."
  type        = string
  default     = ""
  nullable    = false

  validation {
    condition     = var.document == "" || can(keys(yamldecode(var.document)))
    error_message = "document must be YAML whose top level is a map. `trestle check FILE` tells more."
  }

  validation {
    condition = alltrue(flatten([
      for provider in try(values(yamldecode(var.document).providers), []) : [
        for key in try(provider.keys, []) : can(regex("^(env|file|mock):", try(key.value, "env:")))
      ]
    ]))
    error_message = "document has keys of vendors in clear, which the state would hold. Write env:NAME, and NAME into provider_keys."
  }
}

variable "authoritative" {
  description = "The document is what stands here, always; the admin API changes nothing."
  type        = bool
  default     = false
  nullable    = false

  validation {
    condition     = !var.authoritative || var.document != ""
    error_message = "authoritative needs a document."
  }
}

variable "provider_keys" {
  description = "Variables of the environment for `env:NAME` in the document, and where each is kept; never the secret itself."
  type        = map(string)
  default     = {}
  nullable    = false

  validation {
    condition     = alltrue([for name in keys(var.provider_keys) : can(regex("^[A-Z_][A-Z0-9_]*$", name)) && !startswith(name, "TRESTLE_")])
    error_message = "Names in provider_keys must be upper-case letters, digits and underscores, and not begin with TRESTLE_."
  }
}

variable "environment" {
  description = "More variables of the environment of the nodes, such as TRESTLE_LOG; not for secrets."
  type        = map(string)
  default     = {}
  nullable    = false

  validation {
    condition     = length(setintersection(keys(var.environment), local.reserved)) == 0
    error_message = "environment sets what the module sets: ${join(", ", setintersection(keys(var.environment), local.reserved))}."
  }
}

variable "size" {
  description = "What a node has: `cpu` in processors, `memory_mib`, `disk_gib`."
  type = object({
    cpu        = optional(number, 1)
    memory_mib = optional(number, 2048)
    disk_gib   = optional(number, 20)
  })
  default  = {}
  nullable = false

  validation {
    condition     = var.size.cpu > 0 && var.size.memory_mib >= 256 && var.size.disk_gib >= 1
    error_message = "size needs cpu above 0, memory_mib of at least 256 and disk_gib of at least 1."
  }

  validation {
    condition = var.platform != "ecs" || anytrue([
      for cpu, memory in local.fargate : tonumber(cpu) == var.size.cpu * 1024 && contains(memory, var.size.memory_mib)
    ])
    error_message = "Fargate has no size of ${var.size.cpu} processors and ${var.size.memory_mib} MiB. With 1 processor it has 2048 to 8192 MiB, with 2 4096 to 16384, with 4 8192 to 30720, in steps of 1024."
  }

  validation {
    condition     = var.platform != "cloud_run" || contains([1, 2, 4, 6, 8], var.size.cpu)
    error_message = "Cloud Run has no size of ${var.size.cpu} processors for more than one request at once: it has 1, 2, 4, 6 or 8."
  }
}

variable "public" {
  description = "Whether clients reach it from the internet."
  type        = bool
  default     = false
  nullable    = false

  validation {
    condition     = !var.public || var.encrypted
    error_message = "public needs a certificate: keys of clients would go over the internet in clear."
  }
}

variable "encrypted" {
  description = "Whether clients speak TLS, to the load balancer or to the node."
  type        = bool
  nullable    = false
}

variable "allowed_cidrs" {
  description = "Addresses that the load balancer lets in."
  type        = list(string)
  default     = []
  nullable    = false

  validation {
    condition     = alltrue([for cidr in var.allowed_cidrs : can(cidrhost(cidr, 0))])
    error_message = "allowed_cidrs must be ranges such as 10.0.0.0/8."
  }

  validation {
    condition     = !var.public || length(var.allowed_cidrs) > 0 || var.platform == "cloud_run"
    error_message = "public needs allowed_cidrs. [\"0.0.0.0/0\"] is everyone."
  }
}

variable "idle_seconds" {
  description = "How long what stands in front keeps an idle connection to a node; nodes keep theirs longer."
  type        = number
  default     = 60
  nullable    = false
}

variable "drain_seconds" {
  description = "How long requests that run may take when a node ends."
  type        = number
  default     = 900
  nullable    = false
}
