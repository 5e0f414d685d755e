mock_provider "helm" {}

mock_provider "kubernetes" {}

variables {
  image         = { repository = "registry.example/trestle" }
  provider_keys = { OPENAI_API_KEY = "vendors/openai" }
}

run "defaults" {
  command = apply

  assert {
    condition     = output.client_url == "http://trestle.trestle.svc:8080" && output.admin_url == "http://trestle-admin.trestle.svc:8081"
    error_message = "where it is"
  }
  assert {
    condition     = output.chart_values.providerKeys.env.OPENAI_API_KEY == { name = "vendors", key = "openai" }
    error_message = "SECRET/KEY becomes a reference"
  }
  assert {
    condition     = yamldecode(helm_release.this.values[0]).replicas == 3 && output.namespace == "trestle"
    error_message = "the values go to the release"
  }
  assert {
    condition     = kubernetes_namespace_v1.this[0].metadata[0].labels["pod-security.kubernetes.io/enforce"] == "restricted"
    error_message = "pods of the namespace are held to the strictest level"
  }
}

run "balancer_and_certificate" {
  command = apply
  variables {
    certificate   = "clients-tls"
    host          = "gateway.example.com"
    public        = true
    allowed_cidrs = ["192.0.2.0/24"]
  }

  assert {
    condition     = output.client_url == "https://gateway.example.com"
    error_message = "TLS and a name"
  }
  assert {
    condition = (
      output.chart_values.service.type == "LoadBalancer" && output.chart_values.service.port == 443 &&
      output.chart_values.service.loadBalancerSourceRanges == tolist(["192.0.2.0/24"]) &&
      output.chart_values.tls.existingSecret == "clients-tls"
    )
    error_message = "a load balancer that lets in who may, and nodes with the certificate"
  }
}

run "namespace_that_is_there" {
  command = apply
  variables { target = { namespace = "ai", create_namespace = false, secret = "own", mesh_issuer = { name = "mesh", kind = "Issuer" } } }

  assert {
    condition     = length(kubernetes_namespace_v1.this) == 0 && helm_release.this.namespace == "ai"
    error_message = "no namespace is made"
  }
  assert {
    condition     = output.secret_names.node == "own" && output.chart_values.mesh.tls.certManager.issuerRef.name == "mesh"
    error_message = "secrets and authority of one's own"
  }
}

run "misspelt_member_is_refused" {
  command = plan
  variables { target = { name_space = "ai" } }
  expect_failures = [var.target]
}

run "place_that_is_no_secret_is_refused" {
  command = plan
  variables { provider_keys = { OPENAI_API_KEY = "openai" } }
  expect_failures = [helm_release.this]
}

run "key_instead_of_its_place_is_refused" {
  command = plan
  variables { provider_keys = { OPENAI_API_KEY = "sk-proj-123" } }
  expect_failures = [var.provider_keys]
}
