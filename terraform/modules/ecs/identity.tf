# Who starts the tasks and reads the secrets for them, and who they are.

locals {
  # aws, aws-cn or aws-us-gov.
  partition = try(split(":", local.target.cluster_arn)[1], "aws")
  assume_by_tasks = jsonencode({
    Version   = "2012-10-17"
    Statement = [{ Effect = "Allow", Action = "sts:AssumeRole", Principal = { Service = "ecs-tasks.amazonaws.com" } }]
  })
}

resource "aws_iam_role" "execution" {
  name_prefix          = "${var.name}-start-"
  assume_role_policy   = local.assume_by_tasks
  permissions_boundary = local.target.permissions_boundary
  tags                 = var.labels
}

resource "aws_iam_role_policy" "execution" {
  name = "secrets"
  role = aws_iam_role.execution.id
  policy = jsonencode({
    Version = "2012-10-17"
    Statement = concat(
      [
        { Effect = "Allow", Action = "secretsmanager:GetSecretValue", Resource = local.secret_arns },
      ],
      local.target.kms_key_arn == null ? [] : [{ Effect = "Allow", Action = "kms:Decrypt", Resource = local.target.kms_key_arn }],
    )
  })
}

# Images in ECR, and logs.
resource "aws_iam_role_policy_attachment" "execution" {
  role       = aws_iam_role.execution.name
  policy_arn = "arn:${local.partition}:iam::aws:policy/service-role/AmazonECSTaskExecutionRolePolicy"
}

resource "aws_iam_role" "task" {
  name_prefix          = "${var.name}-node-"
  assume_role_policy   = local.assume_by_tasks
  permissions_boundary = local.target.permissions_boundary
  tags                 = var.labels
}

resource "aws_iam_role_policy" "task" {
  name = "disks-and-models"
  role = aws_iam_role.task.id
  policy = jsonencode({
    Version = "2012-10-17"
    Statement = concat(
      [{
        Effect    = "Allow"
        Action    = ["elasticfilesystem:ClientMount", "elasticfilesystem:ClientWrite"]
        Resource  = aws_efs_file_system.this.arn
        Condition = { StringEquals = { "elasticfilesystem:AccessPointArn" = [for point in aws_efs_access_point.node : point.arn] } }
      }],
      length(local.target.bedrock_models) == 0 ? [] : [{
        Effect   = "Allow"
        Action   = ["bedrock:InvokeModel", "bedrock:InvokeModelWithResponseStream"]
        Resource = local.target.bedrock_models
      }],
    )
  })
}

resource "aws_iam_role_policy_attachment" "task" {
  for_each = toset(local.target.policy_arns)

  role       = aws_iam_role.task.name
  policy_arn = each.value
}
