# Nodes on Fargate: one service for each, since each has a disk and a name of its own.

module "core" {
  source = "../core"

  platform      = "ecs"
  name          = var.name
  replicas      = var.replicas
  image         = var.image
  document      = var.document
  authoritative = var.authoritative
  provider_keys = var.provider_keys
  environment   = var.environment
  size          = var.size
  public        = var.public
  allowed_cidrs = var.allowed_cidrs
  encrypted     = local.encrypted
  idle_seconds  = local.target.idle_seconds
  # Fargate kills a task 120 s after it has told it to end, and never later.
  drain_seconds = 100
}

resource "aws_cloudwatch_log_group" "this" {
  name              = "/ecs/${var.name}"
  retention_in_days = local.target.logs_days
  kms_key_id        = local.target.kms_key_arn
  tags              = var.labels
}

resource "aws_ecs_task_definition" "node" {
  for_each = local.nodes

  family                   = each.key
  requires_compatibilities = ["FARGATE"]
  network_mode             = "awsvpc"
  cpu                      = module.core.fargate.cpu
  memory                   = module.core.fargate.memory
  execution_role_arn       = aws_iam_role.execution.arn
  task_role_arn            = aws_iam_role.task.arn
  tags                     = var.labels

  runtime_platform {
    operating_system_family = "LINUX"
    cpu_architecture        = local.target.architecture
  }

  volume {
    name = "files"
  }

  volume {
    name = "data"

    efs_volume_configuration {
      file_system_id     = aws_efs_file_system.this.id
      transit_encryption = "ENABLED"

      authorization_config {
        access_point_id = aws_efs_access_point.node[each.key].id
        iam             = "ENABLED"
      }
    }
  }

  container_definitions = jsonencode([
    {
      name                   = "files"
      image                  = local.target.files_image
      essential              = false
      readonlyRootFilesystem = true
      command                = ["sh", "-c", local.write]
      environment            = [{ name = "DOCUMENT", value = base64encode(var.document) }]
      secrets                = [for name, arn in local.write_secrets : { name = name, valueFrom = arn }]
      mountPoints            = [{ sourceVolume = "files", containerPath = local.files, readOnly = false }]
      logConfiguration       = local.logs
    },
    {
      name                   = "trestle"
      image                  = module.core.image
      essential              = true
      user                   = "65532:65532"
      readonlyRootFilesystem = true
      stopTimeout            = 120
      dependsOn              = [{ containerName = "files", condition = "SUCCESS" }]
      portMappings = [
        { containerPort = local.ports.clients, protocol = "tcp" },
        { containerPort = local.ports.admin, protocol = "tcp" },
        { containerPort = local.ports.gossip, protocol = "udp" },
        { containerPort = local.ports.mesh, protocol = "tcp" },
      ]
      environment = [
        for name, value in merge(local.environment, {
          TRESTLE_NODE_NAME    = each.key
          TRESTLE_MESH_ADDRESS = "${each.key}.${local.zone}:${local.ports.mesh}"
        }) : { name = name, value = value }
      ]
      secrets = [for name, arn in local.node_secrets : { name = name, valueFrom = arn }]
      ulimits = [{ name = "nofile", softLimit = 65535, hardLimit = 65535 }]
      mountPoints = [
        { sourceVolume = "files", containerPath = local.files, readOnly = true },
        { sourceVolume = "data", containerPath = "/var/lib/trestle", readOnly = false },
      ]
      logConfiguration = local.logs
    },
  ])

  lifecycle {
    precondition {
      condition     = length(var.document) <= 16384
      error_message = "document has more than 16 KiB, for which a task definition has no room. Begin with a small one, and apply the rest by the admin API."
    }
    precondition {
      condition     = alltrue([for arn in local.secret_arns : can(regex("^arn:[a-z-]+:secretsmanager:", arn))])
      error_message = "On ecs secrets are named by their ARN in Secrets Manager, arn:aws:secretsmanager:..."
    }
  }
}

locals {
  logs = {
    logDriver = "awslogs"
    options = {
      "awslogs-group"         = aws_cloudwatch_log_group.this.name
      "awslogs-region"        = local.target.region
      "awslogs-stream-prefix" = "node"
    }
  }
}

resource "aws_ecs_service" "node" {
  for_each = local.nodes

  name            = each.key
  cluster         = local.target.cluster_arn
  task_definition = aws_ecs_task_definition.node[each.key].arn
  launch_type     = "FARGATE"
  desired_count   = 1
  # The old task ends before the new one begins: two would have the same disk and name.
  deployment_minimum_healthy_percent = 0
  deployment_maximum_percent         = 100
  # A node is not ready before it has all that was committed; until then it is not to be replaced.
  health_check_grace_period_seconds = 1800
  # With `-parallelism=1` the next node is not changed before this one is back.
  wait_for_steady_state = true
  propagate_tags        = "SERVICE"
  tags                  = var.labels

  network_configuration {
    subnets          = local.target.subnet_ids
    security_groups  = [aws_security_group.node.id]
    assign_public_ip = local.target.assign_public_ip
  }

  service_registries {
    registry_arn = aws_service_discovery_service.node[each.key].arn
  }

  load_balancer {
    target_group_arn = aws_lb_target_group.clients.arn
    container_name   = "trestle"
    container_port   = local.ports.clients
  }

  depends_on = [aws_lb_listener.clients, aws_efs_mount_target.this, aws_iam_role_policy.execution, aws_iam_role_policy.task]
}
