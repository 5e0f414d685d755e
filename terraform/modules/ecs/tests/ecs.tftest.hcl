mock_provider "aws" {}

variables {
  image         = { repository = "registry.example/trestle" }
  document      = "providers: { openai: { keys: [{ name: main, value: env:OPENAI_API_KEY }] } }"
  provider_keys = { OPENAI_API_KEY = "arn:aws:secretsmanager:eu-west-1:1:secret:openai" }
  certificate   = "arn:aws:acm:eu-west-1:1:certificate/c"
  target = {
    region              = "eu-west-1"
    cluster_arn         = "arn:aws:ecs:eu-west-1:1:cluster/prod"
    vpc_id              = "vpc-1"
    subnet_ids          = ["subnet-1", "subnet-2", "subnet-3"]
    balancer_subnet_ids = ["subnet-4", "subnet-5"]
    cluster_secret      = "arn:aws:secretsmanager:eu-west-1:1:secret:cluster"
    mesh_certificate    = "arn:aws:secretsmanager:eu-west-1:1:secret:mesh"
    root_token          = "arn:aws:secretsmanager:eu-west-1:1:secret:root"
    key_encryption_key  = "arn:aws:secretsmanager:eu-west-1:1:secret:kek"
  }
}

run "one_service_and_folder_for_each" {
  command = apply

  assert {
    condition     = length(aws_ecs_service.node) == 3 && length(aws_efs_access_point.node) == 3 && length(aws_efs_mount_target.this) == 3
    error_message = "three nodes"
  }
  assert {
    condition     = aws_ecs_service.node["trestle-1"].deployment_maximum_percent == 100 && aws_ecs_service.node["trestle-1"].deployment_minimum_healthy_percent == 0
    error_message = "never two tasks with one disk"
  }
  assert {
    condition     = aws_efs_access_point.node["trestle-2"].root_directory[0].path == "/trestle-2"
    error_message = "a folder for each"
  }
  assert {
    condition     = aws_lb.this.internal && aws_lb_listener.clients.protocol == "HTTPS" && aws_lb_listener.clients.port == 443
    error_message = "internal, with TLS"
  }
  assert {
    condition = (
      toset([for rule in aws_vpc_security_group_ingress_rule.peers : "${rule.from_port}/${rule.ip_protocol}"]) == toset(["10101/udp", "10102/tcp"])
    )
    error_message = "nodes reach each other"
  }
}

run "more_nodes_restart_none" {
  command = apply
  variables { replicas = 5 }

  assert {
    condition     = local.environment.TRESTLE_BOOTSTRAP_EXPECT == "3" && length(local.seeds) == 3 && length(aws_ecs_service.node) == 5
    error_message = "the settings of those that run have to stay"
  }
}

run "name_instead_of_arn_is_refused" {
  command = plan
  variables { provider_keys = { OPENAI_API_KEY = "openai" } }
  expect_failures = [aws_ecs_task_definition.node]
}

run "misspelt_member_is_refused" {
  command = plan
  variables { target = { regoin = "eu-west-1" } }
  expect_failures = [var.target]
}
