# Names for nodes, a load balancer for clients, and who may reach what.

resource "aws_service_discovery_private_dns_namespace" "this" {
  name        = local.zone
  description = "Nodes of ${var.name}"
  vpc         = local.target.vpc_id
  tags        = var.labels
}

resource "aws_service_discovery_service" "node" {
  for_each = local.nodes

  name = each.key
  tags = var.labels

  dns_config {
    namespace_id   = aws_service_discovery_private_dns_namespace.this.id
    routing_policy = "MULTIVALUE"

    dns_records {
      type = "A"
      ttl  = 10
    }
  }
}

resource "aws_security_group" "balancer" {
  name_prefix = "${var.name}-balancer-"
  description = "Clients of ${var.name}"
  vpc_id      = local.target.vpc_id
  tags        = var.labels

  lifecycle {
    create_before_destroy = true
  }
}

resource "aws_vpc_security_group_ingress_rule" "clients" {
  for_each = toset(var.allowed_cidrs)

  security_group_id = aws_security_group.balancer.id
  description       = "Clients"
  ip_protocol       = "tcp"
  from_port         = local.port
  to_port           = local.port
  cidr_ipv4         = can(cidrnetmask(each.value)) ? each.value : null
  cidr_ipv6         = can(cidrnetmask(each.value)) ? null : each.value
}

resource "aws_vpc_security_group_egress_rule" "balancer" {
  security_group_id            = aws_security_group.balancer.id
  description                  = "To nodes"
  ip_protocol                  = "tcp"
  from_port                    = local.ports.clients
  to_port                      = local.ports.clients
  referenced_security_group_id = aws_security_group.node.id
}

resource "aws_security_group" "node" {
  name_prefix = "${var.name}-node-"
  description = "Nodes of ${var.name}"
  vpc_id      = local.target.vpc_id
  tags        = var.labels

  lifecycle {
    create_before_destroy = true
  }
}

resource "aws_vpc_security_group_ingress_rule" "balanced" {
  security_group_id            = aws_security_group.node.id
  description                  = "From the load balancer"
  ip_protocol                  = "tcp"
  from_port                    = local.ports.clients
  to_port                      = local.ports.clients
  referenced_security_group_id = aws_security_group.balancer.id
}

resource "aws_vpc_security_group_ingress_rule" "peers" {
  for_each = { gossip = "udp", mesh = "tcp" }

  security_group_id            = aws_security_group.node.id
  description                  = "Nodes among themselves: ${each.key}"
  ip_protocol                  = each.value
  from_port                    = local.ports[each.key]
  to_port                      = local.ports[each.key]
  referenced_security_group_id = aws_security_group.node.id
}

resource "aws_vpc_security_group_ingress_rule" "admin" {
  for_each = toset(local.target.admin_cidrs)

  security_group_id = aws_security_group.node.id
  description       = "Admin API and metrics"
  ip_protocol       = "tcp"
  from_port         = local.ports.admin
  to_port           = local.ports.admin
  cidr_ipv4         = each.value
}

# To providers, secrets, logs, disks and other nodes.
resource "aws_vpc_security_group_egress_rule" "node" {
  security_group_id = aws_security_group.node.id
  description       = "Providers, AWS and other nodes"
  ip_protocol       = "-1"
  cidr_ipv4         = "0.0.0.0/0"
}

resource "aws_security_group" "disk" {
  name_prefix = "${var.name}-disk-"
  description = "Disks of ${var.name}"
  vpc_id      = local.target.vpc_id
  tags        = var.labels

  lifecycle {
    create_before_destroy = true
  }
}

resource "aws_vpc_security_group_ingress_rule" "disk" {
  security_group_id            = aws_security_group.disk.id
  description                  = "NFS from nodes"
  ip_protocol                  = "tcp"
  from_port                    = 2049
  to_port                      = 2049
  referenced_security_group_id = aws_security_group.node.id
}

resource "aws_lb" "this" {
  # checkov:skip=CKV2_AWS_28:The web ACL is one that is there, by target.web_acl_arn
  # checkov:skip=CKV2_AWS_76:Its rules are made where it is made
  name               = var.name
  load_balancer_type = "application"
  internal           = !var.public
  subnets            = local.target.balancer_subnet_ids
  security_groups    = [aws_security_group.balancer.id]
  # A stream that is silent for longer is cut.
  idle_timeout               = local.target.idle_seconds
  drop_invalid_header_fields = true
  enable_deletion_protection = local.target.deletion_protection
  tags                       = var.labels

  dynamic "access_logs" {
    for_each = local.target.access_logs_bucket == null ? [] : [local.target.access_logs_bucket]
    content {
      enabled = true
      bucket  = access_logs.value
      prefix  = var.name
    }
  }
}

resource "aws_wafv2_web_acl_association" "this" {
  count = local.target.web_acl_arn == null ? 0 : 1

  resource_arn = aws_lb.this.arn
  web_acl_arn  = local.target.web_acl_arn
}

resource "aws_lb_target_group" "clients" {
  name                 = var.name
  vpc_id               = local.target.vpc_id
  target_type          = "ip"
  protocol             = "HTTP"
  port                 = local.ports.clients
  deregistration_delay = 100
  tags                 = var.labels

  health_check {
    path                = "/readyz"
    matcher             = "200"
    interval            = 5
    timeout             = 3
    healthy_threshold   = 2
    unhealthy_threshold = 2
  }
}

resource "aws_lb_listener" "clients" {
  load_balancer_arn = aws_lb.this.arn
  port              = local.port
  protocol          = local.encrypted ? "HTTPS" : "HTTP"
  ssl_policy        = local.encrypted ? "ELBSecurityPolicy-TLS13-1-2-2021-06" : null
  certificate_arn   = local.encrypted ? var.certificate : null
  tags              = var.labels

  default_action {
    type             = "forward"
    target_group_arn = aws_lb_target_group.clients.arn
  }
}
