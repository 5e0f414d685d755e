variables {
  platform      = "eks"
  encrypted     = true
  image         = { repository = "registry.example/trestle" }
  provider_keys = {}
}

run "three_nodes" {
  command = apply

  assert {
    condition     = output.voters == 3 && output.quorum == 2 && output.losses == 1
    error_message = "three nodes: three vote, two are a majority"
  }
  assert {
    condition     = output.node_names == tolist(["trestle-0", "trestle-1", "trestle-2"]) && output.bootstrap_expect == 3
    error_message = "names of three nodes"
  }
  assert {
    condition     = output.image == "registry.example/trestle:0.1.0"
    error_message = "image by tag"
  }
}

run "more_nodes_keep_who_founded" {
  command = apply
  variables { replicas = 5 }

  assert {
    condition     = output.bootstrap_expect == 3 && length(output.node_names) == 5 && output.quorum == 3
    error_message = "the number of nodes that founded the cluster has to stay"
  }
}

run "at_most_seven_vote" {
  command = plan
  variables { replicas = 31 }

  assert {
    condition     = output.voters == 7 && output.quorum == 4 && output.losses == 3
    error_message = "of 31 nodes 7 vote"
  }
}

run "even_is_told" {
  command = plan
  variables { replicas = 4 }
  expect_failures = [check.odd_replicas]
}

run "even_votes_less" {
  command = plan
  variables { replicas = 32 }
  expect_failures = [check.odd_replicas]

  assert {
    condition     = output.voters == 7
    error_message = "of 32 nodes 7 vote"
  }
}

run "two_nodes_have_one_vote" {
  command = plan
  variables { replicas = 2 }
  expect_failures = [check.odd_replicas]

  assert {
    condition     = output.voters == 1 && output.quorum == 1 && output.losses == 0
    error_message = "of two nodes one votes"
  }
}

run "one_is_told" {
  command = plan
  variables { replicas = 1 }
  expect_failures = [check.single_node]
}

run "none_is_refused" {
  command = plan
  variables { replicas = 0 }
  expect_failures = [var.replicas]
}

run "thirty_three_are_refused" {
  command = plan
  variables { replicas = 33 }
  expect_failures = [var.replicas]
}

run "parts_of_nodes_are_refused" {
  command = plan
  variables { replicas = 2.5 }
  expect_failures = [var.replicas]
}

run "unknown_platform_is_refused" {
  command = plan
  variables { platform = "nomad" }
  expect_failures = [var.platform]
}

run "several_on_cloud_run_are_refused" {
  command = plan
  variables {
    platform = "cloud_run"
    replicas = 3
  }
  expect_failures = [var.replicas]
}

run "one_on_cloud_run" {
  command = plan
  variables {
    platform = "cloud_run"
    replicas = 1
  }

  assert {
    condition     = output.quorum == 1
    error_message = "one node is its own majority"
  }
}

run "digest_wins" {
  command = plan
  variables {
    image = { repository = "registry.example:5000/a/trestle", digest = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef" }
  }

  assert {
    condition     = output.image == "registry.example:5000/a/trestle@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
    error_message = "image by digest"
  }
}

run "tag_in_repository_is_refused" {
  command = plan
  variables { image = { repository = "registry.example/trestle:1" } }
  expect_failures = [var.image]
}

run "short_digest_is_refused" {
  command = plan
  variables { image = { repository = "registry.example/trestle", digest = "sha256:12" } }
  expect_failures = [var.image]
}

run "name_that_is_none_is_refused" {
  command = plan
  variables { name = "Trestle_1" }
  expect_failures = [var.name]
}

run "public_without_certificate_is_refused" {
  command = plan
  variables {
    public        = true
    encrypted     = false
    allowed_cidrs = ["0.0.0.0/0"]
  }
  expect_failures = [var.public]
}

run "public_for_nobody_is_refused" {
  command = plan
  variables { public = true }
  expect_failures = [var.allowed_cidrs]
}

run "range_that_is_none_is_refused" {
  command = plan
  variables { allowed_cidrs = ["10.0.0.0/99"] }
  expect_failures = [var.allowed_cidrs]
}

run "document_that_is_no_map_is_refused" {
  command = plan
  variables { document = "- a\n- b\n" }
  expect_failures = [var.document]
}

run "secret_in_the_document_is_refused" {
  command = plan
  variables { document = "providers: { openai: { keys: [{ name: main, value: sk-in-clear }] } }" }
  expect_failures = [var.document]
}

run "document_may_refer" {
  command = plan
  variables {
    document      = "providers: { openai: { keys: [{ name: main, value: env:OPENAI_API_KEY }, { name: a, aws: {} }, { name: b, value: file:/keys/b }] } }"
    provider_keys = { OPENAI_API_KEY = "some-secret" }
  }

  assert {
    condition     = output.chart_values.document.content.providers.openai.keys[0].value == "env:OPENAI_API_KEY"
    error_message = "the document goes to the chart as it is"
  }
}

run "variable_that_nobody_gives_is_told" {
  command = plan
  variables { document = "providers: { openai: { keys: [{ name: main, value: env:OPENAI_API_KEY }] } }" }
  expect_failures = [check.provider_keys]
}

run "authoritative_without_document_is_refused" {
  command = plan
  variables { authoritative = true }
  expect_failures = [var.authoritative]
}

run "setting_as_provider_key_is_refused" {
  command = plan
  variables { provider_keys = { TRESTLE_ROOT_TOKEN = "x" } }
  expect_failures = [var.provider_keys]
}

run "what_the_module_sets_is_refused" {
  command = plan
  variables { environment = { TRESTLE_SEEDS = "x" } }
  expect_failures = [var.environment]
}

run "nodes_keep_connections_longer_than_what_is_in_front" {
  command = plan
  variables { idle_seconds = 600 }

  assert {
    condition     = output.chart_values.node.idleTimeoutSeconds == 615 && output.environment.TRESTLE_IDLE_TIMEOUT_MS == "615000"
    error_message = "the idle timeout of nodes must be above that of the balancer"
  }
}

run "size_that_fargate_has_not_is_refused" {
  command = plan
  variables {
    platform = "ecs"
    size     = { cpu = 1, memory_mib = 1024 }
  }
  expect_failures = [var.size]
}

run "size_that_cloud_run_has_not_is_refused" {
  command = plan
  variables {
    platform = "cloud_run"
    replicas = 1
    size     = { cpu = 0.5 }
  }
  expect_failures = [var.size]
}

run "size_of_fargate" {
  command = plan
  variables {
    platform = "ecs"
    size     = { cpu = 0.5, memory_mib = 1024 }
  }

  assert {
    condition     = output.fargate.cpu == 512 && output.fargate.memory == 1024
    error_message = "half a processor is 512 units"
  }
}

run "chart_values" {
  command = plan
  variables {
    name        = "gateway"
    size        = { cpu = 2, memory_mib = 4096, disk_gib = 50 }
    environment = { TRESTLE_LOG = "debug" }
  }

  assert {
    condition     = output.chart_values.fullnameOverride == "gateway" && output.chart_values.persistence.size == "50Gi"
    error_message = "name and disk"
  }
  assert {
    condition     = output.chart_values.resources.requests.cpu == "2" && output.chart_values.resources.limits.memory == "4096Mi"
    error_message = "processors and memory"
  }
  assert {
    condition     = output.chart_values.extraEnv[0].name == "TRESTLE_LOG" && output.chart_values.extraEnv[0].value == "debug"
    error_message = "more variables of the environment"
  }
}
