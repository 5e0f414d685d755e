//! Small files, each for one rule.

use super::*;

#[test]
fn versions_of_bifrost_differ_in_what_an_empty_list_means() {
    let file = |version: u8, key: &str| {
        format!(
            r#"{{"version": {version}, "client": {{"enforce_auth_on_inference": true}},
                "providers": {{"openai": {{"keys": [{{"name": "k", "value": "env.K", "models": [], "weight": 1}}]}}}},
                "governance": {{"virtual_keys": [{{"name": "v", "value": "env.V", {key}}}]}}}}"#
        )
    };
    let check = |version, key, models: &[&str], disabled| {
        let made = bifrost(&file(version, key)).unwrap();
        written(&made);
        let found = &made.document.keys["v"];
        assert_eq!(
            (&found.models[..], found.disabled),
            (&models.iter().map(|m| (*m).to_owned()).collect::<Vec<_>>()[..], disabled),
            "{version} {key}"
        );
        // A key for no model is none; the usual variable stands in for it.
        let expected = if version == 1 { "env:K" } else { "env:OPENAI_API_KEY" };
        assert_eq!(made.document.providers["openai"].keys[0].value.as_deref(), Some(expected));
    };
    check(1, r#""provider_configs": []"#, &[], false);
    check(2, r#""provider_configs": []"#, &[], true);
    check(1, r#""provider_configs": [{"provider": "openai", "allowed_models": []}]"#, &["openai/*"], false);
    check(2, r#""provider_configs": [{"provider": "openai", "allowed_models": []}]"#, &[], true);
    check(
        2,
        r#""provider_configs": [{"provider": "openai", "allowed_models": ["*"], "key_ids": []}]"#,
        &[],
        true,
    );
    check(1, r#""provider_configs": [{"provider": "openai", "key_ids": []}]"#, &["openai/*"], false);
    check(2, r#""allow_all_providers": true"#, &[], false);
    check(2, r#""provider_configs": [{"provider": "azure", "allowed_models": ["*"]}]"#, &[], true);
    let blocked = r#""provider_configs": [{"provider": "openai", "allowed_models": ["a", "b"], "blacklisted_models": ["*"]}]"#;
    check(2, blocked, &[], true);
}

#[test]
fn a_file_of_bifrost_without_a_version_may_be_old() {
    let file = r#"{"providers": {"xai": {"keys": [{"name": "k", "value": "env.K", "models": [], "weight": 1}]}},
                   "governance": {"virtual_keys": [{"name": "v", "value": "env.V", "provider_configs": []}]}}"#;
    let made = bifrost(file).unwrap();
    // The key of the vendor is kept, but nothing is opened to a client.
    assert_eq!(made.document.providers["xai"].keys[0].value.as_deref(), Some("env:K"));
    assert!(made.document.keys["v"].disabled);
    assert_eq!(made.notes[0].path, "providers.xai.keys[0].models");
}

#[test]
fn headers_that_bifrost_wants_are_wanted_of_keys() {
    let check = |client: &str, key: &str, headers: &[(&str, &str)], disabled: bool| {
        let file = format!(
            r#"{{"client": {{"required_headers": {client}}}, "providers": {{"xai": {{"keys": []}}}}, "governance": {{"virtual_keys":
                [{{"name": "v", "value": "env.V", "allow_all_providers": true, "required_headers": {key}}}]}}}}"#
        );
        let made = bifrost(&file).unwrap();
        let found = &made.document.keys["v"];
        let expected =
            headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        assert_eq!((&found.required_headers, found.disabled), (&expected, disabled), "{client} {key}");
    };
    check("null", "null", &[], false);
    check(r#"["x-a"]"#, r#"{"x-b": "live"}"#, &[("x-a", "*"), ("x-b", "live")], false);
    check(r#"{"x-a": "*"}"#, r#"{"x-a": "live"}"#, &[("x-a", "live")], false);
    check(r#"{"x-a": "live"}"#, r#"{"x-a": "*"}"#, &[("x-a", "live")], false);
    check(r#"{"x-a": "env.A"}"#, "[]", &[], true);
    check("[]", r#"{"x-a": "v[0-9]+"}"#, &[], true);
}

#[test]
fn whether_bifrost_wants_a_key() {
    let check = |text: &str, required: bool, noted: usize| {
        let made = bifrost(text).unwrap();
        assert_eq!(
            (made.document.settings.require_keys, made.notes.len()),
            (required, noted),
            "{text}\n{:?}",
            made.notes
        );
    };
    check("{}", false, 1);
    check(r#"{"client": {"enforce_auth_on_inference": true}}"#, true, 0);
    check(r#"{"client": {"enforce_auth_on_inference": false}}"#, false, 0);
    check(r#"{"client": {"enforce_governance_header": true, "enforce_auth_on_inference": false}}"#, true, 0);
    check(r#"{"plugins": [{"name": "governance", "config": {"is_vk_mandatory": true}}]}"#, true, 0);
    let key = r#""virtual_keys": [{"name": "v", "value": "sk-bf-1", "allow_all_providers": true}]"#;
    check(&format!(r#"{{"governance": {{{key}}}}}"#), true, 1);
}

#[test]
fn bifrost_providers() {
    let open = json!({ "require_keys": false });
    let one = |name: &str, provider: Value| json!({ "providers": { name: provider } }).to_string();
    // `mock` is taken, and a slash ends a provider's name.
    let custom = json!({
        "custom_provider_config": { "base_provider_type": "openai", "is_key_less": true },
        "network_config": { "base_url": "https://h" },
    });
    let expected = json!({ "auth": "none", "base_url": "https://h/v1", "like": "openai" });
    check(
        bifrost,
        &one("mock", custom.clone()),
        json!({ "providers": { "mock-2": expected }, "settings": open }),
        &["providers.mock.network_config.base_url", "providers.mock", "governance"],
    );
    check(
        bifrost,
        &one("a/b*", custom),
        json!({ "providers": { "a-b-": expected }, "settings": open }),
        &[r#"providers["a/b*"].network_config.base_url"#, r#"providers["a/b*"]"#, "governance"],
    );
    // Where its API is cannot be called.
    let metadata = json!({ "network_config": { "base_url": "http://169.254.169.254" }, "keys": [{ "name": "k", "value": "env.K", "weight": 1 }] });
    check(
        bifrost,
        &one("openai", metadata),
        json!({ "settings": open }),
        &["providers.openai.network_config.base_url", "providers.openai", "governance"],
    );
    // More than a document takes.
    let much = json!({
        "keys": [{ "name": "k", "value": "env.K", "weight": 0 }],
        "network_config": { "max_retries": 50, "retry_backoff_initial": "1m", "retry_backoff_max": 30000, "default_request_timeout_in_seconds": 3600, "ca_cert_pem": "no certificate" },
        "concurrency_and_buffer_size": { "concurrency": 9000000, "buffer_size": 10 },
    });
    check(
        bifrost,
        &one("xai", much),
        json!({
            "providers": { "xai": {
                "concurrency": 1_000_000, "queue": 10,
                "keys": [{ "name": "k", "value": "env:K", "weight": 1 }],
                "retries": { "backoff_ms": 30_000, "backoff_max_ms": 30_000, "max": 10 },
                "timeouts": { "first_token_ms": 3_600_000, "total_ms": 3_600_000 },
            } },
            "settings": open,
        }),
        &[
            "providers.xai.concurrency_and_buffer_size.concurrency",
            "providers.xai.network_config.max_retries",
            "providers.xai.network_config.retry_backoff_initial",
            "providers.xai.network_config.ca_cert_pem",
            "governance",
        ],
    );
    // A server of one's own that is given a key, and one that is written at two places.
    let twice = json!({ "keys": [
        { "name": "a", "value": "env.A", "vllm_key_config": { "url": "http://a:8000" }, "weight": 1 },
        { "name": "b", "value": "env.B", "vllm_key_config": { "url": "http://b:8000", "model_name": "m" }, "weight": 1 },
    ] });
    check(
        bifrost,
        &one("vllm", twice),
        json!({
            "providers": { "vllm": { "base_url": "http://a:8000/v1", "keys": [{ "name": "a", "value": "env:A", "weight": 1 }] } },
            "settings": open,
        }),
        &[
            "providers.vllm.keys[1].vllm_key_config.model_name",
            "providers.vllm.keys[1].vllm_key_config.url",
            "providers.vllm.keys[0].vllm_key_config.url",
            "governance",
        ],
    );
}

#[test]
fn litellm_entries() {
    let master = json!({ "master": { "value": "env:LITELLM_MASTER_KEY" } });
    let key = |name: &str| json!([{ "name": "main", "value": name, "weight": 1 }]);
    // Nothing but a model under its own name needs no entry.
    check(
        litellm,
        "model_list: [{ model_name: groq/x, litellm_params: { model: groq/x } }]",
        json!({ "providers": { "groq": { "keys": key("env:GROQ_API_KEY") } }, "keys": master }),
        &["general_settings.master_key"],
    );
    // A pattern becomes a provider of the name that clients write.
    check(
        litellm,
        r#"model_list: [{ model_name: "team/*", litellm_params: { model: "openai/*", api_key: os.environ/K } }]"#,
        json!({ "providers": { "team": { "like": "openai", "keys": key("env:K") } }, "keys": master }),
        &["general_settings.master_key"],
    );
    // Merged maps, words for true, names that are numbers, and a share that only one has.
    check(
        litellm,
        "a: &a { api_key: os.environ/K }\nmodel_list:\n- model_name: 4\n  litellm_params: { <<: *a, model: o1, weight: 0.5 }\n- model_name: 4\n  litellm_params: { <<: *a, model: o3 }\nlitellm_settings: { drop_params: yes }",
        json!({
            "providers": { "openai": { "keys": key("env:K") } },
            "models": { "4": { "targets": [{ "model": "openai/o1" }, { "model": "openai/o3", "weight": 0 }] } },
            "keys": master,
        }),
        &["general_settings.master_key", "a"],
    );
    // The master key itself is not kept.
    check(
        litellm,
        "general_settings: { master_key: sk-1 }",
        json!({ "keys": { "master": { "value": crate::hash_text("sk-1") } } }),
        &[],
    );
    // A credential that reads as a reference of ours is none of theirs.
    check(
        litellm,
        "model_list: [{ model_name: m, litellm_params: { model: xai/g, api_key: 'file:/etc/passwd' } }]\ngeneral_settings: { master_key: oidc/x }",
        json!({
            "providers": { "xai": { "keys": key("env:XAI_MAIN") } },
            "models": { "m": { "targets": [{ "model": "xai/g" }] } },
        }),
        &["model_list[0].litellm_params.api_key", "general_settings.master_key"],
    );
}

#[test]
fn litellm_names_and_fallbacks() {
    let text = r#"
model_list:
  - { model_name: "mock/x", litellm_params: { model: openai/a } }
  - { model_name: openai/two, litellm_params: { model: openai/a } }
  - { model_name: openai/two, litellm_params: { model: openai/b } }
  - { model_name: lost, litellm_params: { model: sagemaker/c } }
  - { model_name: a, litellm_params: { model: openai/a } }
  - { model_name: b, litellm_params: { model: openai/b } }
router_settings:
  fallbacks: [{ a: [b] }, { b: [a, b, lost] }, { "*": [openai/two] }]
  model_group_alias: { alias: a }
general_settings: { master_key: os.environ/M }
"#;
    let target = |model: &str| json!({ "model": format!("openai-2/{model}") });
    check(
        litellm,
        text,
        json!({
            "providers": { "openai-2": { "like": "openai", "keys": [{ "name": "main", "value": "env:OPENAI_API_KEY", "weight": 1 }] } },
            "models": {
                "a": { "targets": [target("a")], "fallbacks": ["b"] },
                "alias": { "targets": [target("a")], "fallbacks": ["b"] },
                "b": { "targets": [target("b")], "fallbacks": [target("a")] },
                "mock-x": { "targets": [target("a")], "fallbacks": ["openai/two"] },
                "openai/two": { "targets": [target("a"), target("b")] },
            },
            "keys": { "master": { "value": "env:M" } },
        }),
        &[
            "model_list[3]",
            "model_list[0].model_name",
            "model_list[3]",
            "router_settings.fallbacks[1].b[0]",
            "router_settings.fallbacks[1].b[1]",
            "router_settings.fallbacks[1].b[2]",
        ],
    );
}

#[test]
fn what_is_no_such_file_is_refused_with_its_place() {
    refused(bifrost, "[]", &["document: must be an object, and is a list"]);
    refused(litellm, "just text", &["document: must be an object, and is text"]);
    refused(
        bifrost,
        r#"{"providers": [}"#,
        &["line 1, column 15: is not YAML: mismatched bracket '[' closed by '}'"],
    );
    refused(bifrost, r#"{"a": 1, "a": 2}"#, &["line 1, column 10: `a` is there twice; remove one"]);
    refused(
        bifrost,
        r#"{"version": 3, "providers": {"openai": {"keys": {}, "network_config": {"max_retries": "many", "retry_backoff_max": "5 parsecs"}}}, "client": {"max_request_body_size_mb": -1}}"#,
        &[
            "version: must be 1 or 2",
            "providers.openai.network_config.max_retries: must be a whole number from 0, and is text",
            "providers.openai.network_config.retry_backoff_max: must be milliseconds, or a time such as `500ms` or `5s`",
            "providers.openai.keys: must be a list, and is an object",
            "client.max_request_body_size_mb: must be a whole number from 0, and is another number",
        ],
    );
    refused(
        litellm,
        "model_list: [{ model_name: m }, { model_name: m, litellm_params: { api_key: k } }, 7]\nrouter_settings: { num_retries: few }",
        &[
            "model_list[0]: must have `model_name` and `litellm_params`",
            "model_list[1].litellm_params.model: is missing; without it this is no entry of LiteLLM",
            "model_list[2]: must be an object, and is another number",
            "router_settings.num_retries: must be a whole number from 0, and is text",
        ],
    );
    for import in [bifrost as Import, litellm] {
        let deep = import(&("[".repeat(200) + &"]".repeat(200))).unwrap_err().to_string();
        assert!(deep.contains("too deep"), "{deep}");
        let huge = import(&" ".repeat((64 << 20) + 1)).unwrap_err().to_string();
        assert!(huge.contains("larger than"), "{huge}");
    }
}
