# Mocks have no ephemeral resources: azurerm is a provider without a cloud (terraform/tests), which makes up what the cloud would choose.
provider "azurerm" {
  features {}
}
mock_provider "helm" {}
mock_provider "kubernetes" {}

variables {
  image  = { repository = "registry.example/trestle" }
  target = { resource_group_name = "g", location = "westeurope", oidc_issuer_url = "https://issuer.example/" }
}

run "workload_identity" {
  command = apply

  assert {
    condition     = azurerm_federated_identity_credential.this.subject == "system:serviceaccount:trestle:trestle"
    error_message = "the credential is for the service account of the nodes alone"
  }
  assert {
    condition     = output.chart_values.identity.azure.clientId == azurerm_user_assigned_identity.this.client_id && length(azurerm_role_assignment.this) == 0
    error_message = "the identity goes to the chart, and may nothing"
  }
}

run "internal_balancer_and_roles" {
  command = apply
  variables {
    target = {
      resource_group_name = "g"
      location            = "westeurope"
      oidc_issuer_url     = "https://issuer.example/"
      subnet_name         = "inner"
      roles               = [{ role = "Cognitive Services OpenAI User", scope = "/subscriptions/s/account" }]
      release             = { load_balancer = true }
    }
  }

  assert {
    condition = (
      output.chart_values.service.annotations["service.beta.kubernetes.io/azure-load-balancer-internal"] == "true" &&
      output.chart_values.service.annotations["service.beta.kubernetes.io/azure-load-balancer-internal-subnet"] == "inner"
    )
    error_message = "internal unless public"
  }
  assert {
    condition     = azurerm_role_assignment.this["Cognitive Services OpenAI User on /subscriptions/s/account"].principal_id == azurerm_user_assigned_identity.this.principal_id
    error_message = "roles are for the identity"
  }
}

run "missing_member_is_refused" {
  command = plan
  variables { target = { resource_group_name = "g", location = "westeurope" } }
  expect_failures = [var.target]
}
