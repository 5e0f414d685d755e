# Mocks have no ephemeral resources: google is a provider without a cloud (terraform/tests), which makes up what the cloud would choose.
mock_provider "helm" {}
mock_provider "kubernetes" {}

variables {
  image  = { repository = "registry.example/trestle" }
  target = { project = "p" }
}

run "workload_identity" {
  command = apply

  assert {
    condition     = google_service_account_iam_member.workload.member == "serviceAccount:p.svc.id.goog[trestle/trestle]"
    error_message = "the binding is for the service account of the nodes alone"
  }
  assert {
    condition     = output.chart_values.identity.gcp.serviceAccount == google_service_account.this.email && length(google_project_iam_member.this) == 0
    error_message = "the account goes to the chart, and may nothing"
  }
  assert {
    condition     = output.chart_values.node.idleTimeoutSeconds > 600
    error_message = "nodes keep connections longer than Google's load balancers"
  }
}

run "internal_balancer_and_roles" {
  command = apply
  variables { target = { project = "p", workload_pool = "fleet.svc.id.goog", roles = ["roles/aiplatform.user"], release = { load_balancer = true } } }

  assert {
    condition     = output.chart_values.service.annotations["networking.gke.io/load-balancer-type"] == "Internal"
    error_message = "internal unless public"
  }
  assert {
    condition     = google_service_account_iam_member.workload.member == "serviceAccount:fleet.svc.id.goog[trestle/trestle]" && length(google_project_iam_member.this) == 1
    error_message = "pool and roles"
  }
}

run "public_balancer" {
  command = apply
  variables {
    public        = true
    certificate   = "clients-tls"
    allowed_cidrs = ["0.0.0.0/0"]
  }

  assert {
    condition     = length(output.chart_values.service.annotations) == 0 && output.chart_values.service.port == 443 && output.chart_values.tls.enabled
    error_message = "a public load balancer with TLS at the nodes"
  }
}

run "misspelt_member_is_refused" {
  command = plan
  variables { target = { project = "p", role = [] } }
  expect_failures = [var.target]
}
