//! Texts that are no document, each with all that is said of it.

use super::*;

fn check(text: &str, expected: &[&str]) {
    let problems: Vec<_> = parse(text).unwrap_err().0.iter().map(ToString::to_string).collect();
    assert_eq!(problems, expected, "{text}");
}

#[test]
fn syntax_errors_have_line_and_column() {
    check(
        "models: {a: 1\nkeys: [",
        &["line 2, column 5: is not YAML: while parsing a flow mapping, did not find expected ',' or '}'"],
    );
    check("models: {}\nmodels: {}\n", &["line 2, column 1: `models` is there twice; remove one"]);
    check("{\"keys\": {}, \"keys\": {}}", &["line 1, column 14: `keys` is there twice; remove one"]);
    check("keys:\n  a: { value: x, value: y }\n", &["line 2, column 18: `value` is there twice; remove one"]);
    check(
        "models: {}\n---\nkeys: {}\n",
        &["line 3, column 1: begins a second document; put everything into one"],
    );
    check("models: *nothing\n", &["line 1, column 9: is not YAML: reference to unknown value"]);
    check("models: !ruby/object {}\n", &["line 1, column 22: is not YAML: unsupported tag `!ruby/object`"]);
}

#[test]
fn expansion_and_depth_are_bounded() {
    let too_much = "is too deep or expands to too much; use fewer aliases or less nesting";
    let mut bomb = String::from("a0: &a0 [x]\n");
    for i in 1..12 {
        bomb += &format!("a{i}: &a{i} [{}]\n", vec![format!("*a{}", i - 1); 10].join(", "));
    }
    let problems = parse(&bomb).unwrap_err().0;
    assert_eq!((problems.len(), problems[0].message.as_str()), (1, too_much), "{problems:?}");
    let deep = format!("models: {}{}", "[".repeat(100), "]".repeat(100));
    assert_eq!(parse(&deep).unwrap_err().0[0].message, too_much);
    let blocks: String = (0..100).map(|i| format!("{}a:\n", " ".repeat(i))).collect();
    assert_eq!(parse(&blocks).unwrap_err().0[0].message, too_much);
}

#[test]
fn nothing_is_not_a_document() {
    check("", &["document: is empty; write `{}` if nothing is to be set"]);
    check("# only a comment\n", &["document: is empty; write `{}` if nothing is to be set"]);
    check("[]", &["document: must be a map, not a list"]);
    check("hello", &["document: must be a map, not text"]);
    assert_eq!(parse("{}").unwrap(), Document::default());
}

#[test]
fn misspelt_members_are_named() {
    let known = "known: `catalog`, `customers`, `keys`, `models`, `providers`, `settings`, `teams`, `users`";
    check("modles: {}", &[&format!("modles: unknown member `modles`; did you mean `models`? {known}")]);
    check("\"li mits\": {}", &[&format!("[\"li mits\"]: unknown member `li mits`; {known}")]);
    check(
        "providers: { openai: { keys: [{ name: a, value: b, wieght: 2 }] } }",
        &[
            "providers.openai.keys[0].wieght: unknown member `wieght`; did you mean `weight`? known: `aws`, `entra`, \
           `google`, `name`, `value`, `weight`",
        ],
    );
    check(
        "keys: { a: { value: x, limit: 1 } }",
        &[
            "keys.a.limit: unknown member `limit`; did you mean `limits`? known: `budgets`, `customer`, `disabled`, `expires_at`, `ip_allow`, `limits`, `models`, `previous`, `provider_limits`, `providers`, `required_headers`, `strict`, `tags`, `team`, `trace`, `user`, `value`",
        ],
    );
    check(
        "models: { a.b: { targets: [{ model: x/y }], fallbacks: [{ model: x/z, wait: 1 }] } }",
        &[
            "models[\"a.b\"].fallbacks[0].wait: unknown member `wait`; known: `model`, `params`, `retries`, `timeouts`, \
           `weight`",
        ],
    );
    check(
        "providers: { x: { auth: { heder: y } } }",
        &[
            "providers.x.auth.heder: unknown member `heder`; did you mean `header`? known: `header`",
            "providers.x.auth.header: is missing; add it",
        ],
    );
}

#[test]
fn wrong_types_are_said() {
    check("models: 3", &["models: must be a map, not a number"]);
    check("models:", &["models: is empty; give it a map, or remove it"]);
    check("models: { a: { targets: x } }", &["models.a.targets: must be a list, not text"]);
    check("models: { a: {} }", &["models.a.targets: is missing; add it"]);
    check("models: { a: { targets: [x/y] } }", &["models.a.targets[0]: must be a map, not text"]);
    check(
        "models: { a: { targets: [{ model: 4 }] } }",
        &["models.a.targets[0].model: must be text, not a number; put it in quotes"],
    );
    check(
        "models: { a: { targets: [{ model: x/y }], fallbacks: [[x]] } }",
        &["models.a.fallbacks[0]: must be text or a map, not a list"],
    );
    check(
        "keys: { a: { value: true } }",
        &["keys.a.value: must be text, not `true` or `false`; put it in quotes"],
    );
    check(
        "keys: { a: { value: x, disabled: yes } }",
        &["keys.a.disabled: must be `true` or `false`, not text"],
    );
    check(
        "settings: { require_keys: 1 }",
        &["settings.require_keys: must be `true` or `false`, not a number"],
    );
    check("settings: { attempts_max: x }", &["settings.attempts_max: must be a whole number, not text"]);
    check("providers: { x: { auth: [] } }", &["providers.x.auth: must be text or a map, not a list"]);
    check("providers: { x: { dialects: openai-chat } }", &["providers.x.dialects: must be a list, not text"]);
    check(
        "providers: { x: { headers: { a: 1 } } }",
        &["providers.x.headers.a: must be text, not a number; put it in quotes"],
    );
}

#[test]
fn numbers_have_ranges() {
    check(
        "settings: { attempts_max: -1 }",
        &["settings.attempts_max: must be a whole number from 0 to 4294967295"],
    );
    check(
        "settings: { attempts_max: 4294967296 }",
        &["settings.attempts_max: must be a whole number from 0 to 4294967295"],
    );
    check(
        "settings: { body_bytes_max: -1 }",
        &["settings.body_bytes_max: must be a whole number, at least 0"],
    );
    check("settings: { body_bytes_max: 1.5 }", &["settings.body_bytes_max: must be a whole number"]);
    check(
        "providers: { mock: { mock: { status: 70000 } } }",
        &["providers.mock.mock.status: must be a whole number from 0 to 65535"],
    );
}

#[test]
fn choices_are_named_and_what_was_written_is_not() {
    check(
        "models: { a: { strategy: orderd, targets: [{ model: x/y }] } }",
        &["models.a.strategy: must be one of `weighted`, `ordered`; did you mean `ordered`?"],
    );
    check(
        "providers: { x: { auth: sk-secret } }",
        &["providers.x.auth: must be one of `bearer`, `none`, or a map with `header`"],
    );
    check(
        "providers: { x: { dialects: [openai] } }",
        &[
            "providers.x.dialects[0]: must be one of `openai-chat`, `openai-responses`, `anthropic-messages`, `gemini`, `bedrock-converse`, `cohere-chat`",
        ],
    );
    check(
        "settings: { on_disconnect: stop }",
        &["settings.on_disconnect: must be one of `auto`, `abort`, `finish`"],
    );
    let parsed = parse("providers: { x: { quirks: { lacks: [tool] } } }").unwrap_err();
    assert!(parsed.0[0].message.ends_with("; did you mean `tools`?"), "{parsed}");
}

#[test]
fn all_problems_come_at_once() {
    check(
        "provider: {}\nmodels: { a: { targets: [{}, { model: 1 }], startegy: x } }\nsettings: { attempts_max: x }",
        &[
            "models.a.startegy: unknown member `startegy`; did you mean `strategy`? known: `budgets`, `fallbacks`, `limits`, `strategy`, `targets`",
            "models.a.targets[0].model: is missing; add it",
            "models.a.targets[1].model: must be text, not a number; put it in quotes",
            "provider: unknown member `provider`; did you mean `providers`? known: `catalog`, `customers`, `keys`, `models`, `providers`, `settings`, `teams`, `users`",
            "settings.attempts_max: must be a whole number, not text",
        ],
    );
}

#[test]
fn json_and_aliases_are_read() {
    let json = parse(
        r#"{"models": {"a": {"targets": [{"model": "x/y", "params": {"seed": 18446744073709551615}}]}}}"#,
    );
    assert_eq!(json.unwrap().models["a"].targets[0].params["seed"], u64::MAX);
    let yaml = parse("models:\n  a: &a { targets: [{ model: x/y }] }\n  b: *a\n").unwrap();
    assert_eq!(yaml.models["a"], yaml.models["b"]);
}

#[test]
fn samples_are_read_and_written_back() {
    for sample in [include_str!("../../samples/small.yaml"), include_str!("../../samples/full.yaml")] {
        let document = parse(sample).unwrap();
        let again = parse(&serde_json::to_string(&document).unwrap()).unwrap();
        assert_eq!(document, again);
    }
}

#[test]
fn the_schema_agrees_with_parse() {
    let schema: Value = serde_json::from_str(&schema()).unwrap();
    assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
    assert_eq!(schema["title"], "Trestle gateway document");
    let validator = jsonschema::validator_for(&schema).unwrap();
    let valid = |text: &str| validator.is_valid(&serde_saphyr::from_str::<Value>(text).unwrap());
    assert!(valid(include_str!("../../samples/small.yaml")));
    assert!(valid(include_str!("../../samples/full.yaml")));
    for bad in [
        "modles: {}",
        "models: { a: {} }",
        "models: { a: { targets: x } }",
        "models: { a: { targets: [{ model: 4 }] } }",
        "providers: { x: { auth: { heder: y } } }",
        "providers: { x: { dialects: [openai] } }",
        "settings: { attempts_max: -1 }",
        "keys: { a: { value: x, disabled: 1 } }",
    ] {
        assert!(!valid(bad), "{bad}");
        assert!(parse(bad).is_err(), "{bad}");
    }
    for every in ["providers", "models", "keys", "settings"] {
        assert!(schema["properties"][every]["description"].is_string(), "{every}");
    }
}
