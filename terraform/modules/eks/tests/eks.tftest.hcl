# Mocks have no ephemeral resources: aws is a provider without a cloud (terraform/tests), which makes up what the cloud would choose.
mock_provider "helm" {}
mock_provider "kubernetes" {}

variables {
  image  = { repository = "registry.example/trestle" }
  target = { oidc_provider_arn = "arn:aws:iam::1:oidc-provider/oidc.eks.eu-west-1.amazonaws.com/id/A" }
}

run "role_for_one_service_account" {
  command = apply

  assert {
    condition = (
      jsondecode(aws_iam_role.this.assume_role_policy).Statement[0].Condition.StringEquals["oidc.eks.eu-west-1.amazonaws.com/id/A:sub"]
      == "system:serviceaccount:trestle:trestle"
    )
    error_message = "the role is for the service account of the nodes alone"
  }
  assert {
    condition     = output.chart_values.identity.aws.roleArn == aws_iam_role.this.arn && length(aws_iam_role_policy.bedrock) == 0
    error_message = "the role goes to the chart, and may nothing"
  }
  assert {
    condition     = output.chart_values.service.type == "ClusterIP" && length(output.chart_values.service.annotations) == 0
    error_message = "no load balancer unless asked for"
  }
}

run "internal_balancer_with_certificate" {
  command = apply
  variables {
    certificate = "arn:aws:acm:eu-west-1:1:certificate/c"
    target = {
      oidc_provider_arn = "arn:aws:iam::1:oidc-provider/oidc.eks.eu-west-1.amazonaws.com/id/A"
      bedrock_models    = ["arn:aws:bedrock:*::foundation-model/*"]
      release           = { load_balancer = true, namespace = "ai", annotations = { more = "yes" } }
    }
  }

  assert {
    condition = (
      output.chart_values.service.annotations["service.beta.kubernetes.io/aws-load-balancer-scheme"] == "internal" &&
      output.chart_values.service.annotations["service.beta.kubernetes.io/aws-load-balancer-ssl-cert"] == "arn:aws:acm:eu-west-1:1:certificate/c" &&
      output.chart_values.service.annotations["more"] == "yes"
    )
    error_message = "annotations of the load balancer"
  }
  assert {
    condition     = output.chart_values.service.port == 443 && !output.chart_values.tls.enabled && output.chart_values.node.idleTimeoutSeconds == 365
    error_message = "the load balancer has the certificate, and keeps connections less long than nodes"
  }
  assert {
    condition     = strcontains(aws_iam_role.this.assume_role_policy, "system:serviceaccount:ai:trestle") && length(aws_iam_role_policy.bedrock) == 1
    error_message = "namespace and models"
  }
}

run "no_arn_is_refused" {
  command = plan
  variables { target = { oidc_provider_arn = "https://oidc.eks.eu-west-1.amazonaws.com/id/A" } }
  expect_failures = [aws_iam_role.this]
}

run "misspelt_member_is_refused" {
  command = plan
  variables { target = { oidc_provider_arn = "arn:aws:iam::1:oidc-provider/x", bedrock_model = [] } }
  expect_failures = [var.target]
}

run "missing_member_is_refused" {
  command = plan
  variables { target = {} }
  expect_failures = [var.target]
}
