# A folder of its own on one EFS for each node: a task that is started anew finds the disk of the one before. EBS volumes of services end
# with their task.

resource "aws_efs_file_system" "this" {
  creation_token   = var.name
  encrypted        = true
  kms_key_id       = local.target.kms_key_arn
  throughput_mode  = "elastic"
  performance_mode = "generalPurpose"
  tags             = merge(var.labels, { Name = var.name })
}

resource "aws_efs_mount_target" "this" {
  for_each = toset(local.target.subnet_ids)

  file_system_id  = aws_efs_file_system.this.id
  subnet_id       = each.value
  security_groups = [aws_security_group.disk.id]
}

resource "aws_efs_access_point" "node" {
  for_each = local.nodes

  file_system_id = aws_efs_file_system.this.id
  tags           = merge(var.labels, { Name = each.key })

  posix_user {
    uid = 65532
    gid = 65532
  }

  root_directory {
    path = "/${each.key}"

    creation_info {
      owner_uid   = 65532
      owner_gid   = 65532
      permissions = "0700"
    }
  }
}
