mock_provider "google" {}

variables {
  image         = { repository = "registry.example/trestle" }
  document      = "providers: { openai: { keys: [{ name: main, value: env:OPENAI_API_KEY }] } }"
  provider_keys = { OPENAI_API_KEY = "vendors-openai" }
  target        = { project = "p", location = "europe-west1", root_token = "root", key_encryption_key = "kek" }
}

run "one_instance" {
  command = apply

  assert {
    condition = (
      google_cloud_run_v2_service.this.template[0].scaling[0].max_instance_count == 1 &&
      google_cloud_run_v2_service.this.template[0].scaling[0].min_instance_count == 1 &&
      google_cloud_run_v2_service.this.ingress == "INGRESS_TRAFFIC_INTERNAL_ONLY"
    )
    error_message = "exactly one, for the network alone"
  }
  assert {
    condition     = { for one in google_cloud_run_v2_service.this.template[0].containers[0].env : one.name => one.value }["TRESTLE_AUTHORITATIVE"] == "true"
    error_message = "the document is the only source"
  }
  assert {
    condition     = toset(keys(google_secret_manager_secret_iam_member.this)) == toset(["OPENAI_API_KEY", "GATEWAY_ROOT_TOKEN", "GATEWAY_KEY_ENCRYPTION_KEY"])
    error_message = "the node may read its secrets and no others"
  }
}

run "certificate_is_refused" {
  command = plan
  variables { certificate = "x" }
  expect_failures = [google_cloud_run_v2_service.this]
}

run "no_document_is_refused" {
  command = plan
  variables { document = "" }
  expect_failures = [google_cloud_run_v2_service.this]
}
