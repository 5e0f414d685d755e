//! Documents that do not compile, or not without a warning, each with all that is said of it.

use super::*;
use crate::{ProviderKind, hash_text};
use std::time::Duration;

#[test]
fn providers_need_what_is_not_listed() {
    check(
        "providers: { opena: {} }",
        &[
            "providers.opena.base_url: is missing, and `opena` is not a listed vendor; did you mean `openai`? (or set \
             `like`)",
            "providers.opena.dialects: is missing; write `dialects: [openai-chat]`, or set `like` to a listed vendor",
        ],
    );
    check(
        "providers: { x: { base_url: \"http://h\" } }",
        &[
            "providers.x.dialects: is missing; write `dialects: [openai-chat]`, or set `like` to a listed vendor",
        ],
    );
    check(
        "providers: { x: { dialects: [openai-chat] } }",
        &["providers.x.base_url: is missing, and `x` is not a listed vendor (or set `like`)"],
    );
    check(
        "providers: { x: { like: opnai } }",
        &["providers.x.like: `opnai` is not a listed vendor; did you mean `openai`?"],
    );
    check(
        "providers: { a/b: { base_url: \"http://h\", dialects: [openai-chat] } }",
        &["providers[\"a/b\"]: must not have `/` or `*` in its name"],
    );
    check(
        "providers: { \" a\": { base_url: \"http://h\", dialects: [openai-chat] } }",
        &[
            "providers[\" a\"]: must have a name of 1 to 128 bytes, without control characters, or white space around it",
        ],
    );
}

#[test]
fn rows_of_the_document_are_checked() {
    check(
        "providers: { x: { base_url: \"https://u:p@h\", dialects: [openai-chat] } }",
        &["providers.x.base_url: must not carry a user or password; put the key into `keys`"],
    );
    check(
        "providers: { x: { base_url: \"http://169.254.169.254\", dialects: [] } }",
        &[
            "providers.x.dialects: is empty; name at least one of `openai-chat`, `openai-responses`, `anthropic-messages`, `gemini`, \
             `bedrock-converse`, `cohere-chat`",
            "providers.x.base_url: is a link-local or metadata address, which is never allowed",
        ],
    );
    check(
        "providers: { x: { base_url: \"http://h\", dialects: [openai-chat], auth: { header: host }, \
         headers: { \"a b\": c, authorization: d }, forward_headers: [Cookie, x-api-key], endpoints: { chat: chat } } }",
        &[
            "providers.x.auth.header: `host` cannot present a key; use a header such as `x-api-key`, or `bearer`",
            "providers.x.headers: `a b` is not a header name",
            "providers.x.headers: `authorization` carries a credential; put the key into `keys` and its header into \
             `auth`",
            "providers.x.forward_headers: `cookie` would leak the client's credentials to the provider; leave it out",
            "providers.x.forward_headers: `x-api-key` would leak the client's credentials to the provider; leave it out",
            "providers.x.endpoints.chat: must begin with `/` (below `base_url`) or `//` (from the root of the host)",
        ],
    );
    check(
        "providers: { x: { base_url: \"https://h\", dialects: [openai-chat], passthrough: [GET /a, get /a, GET a, GET /**/a] } }",
        &[
            "providers.x.passthrough[1]: has a method that is not passed on; use GET, HEAD, POST, PUT, PATCH, DELETE, \
             OPTIONS or `*` for all",
            "providers.x.passthrough[2]: must have a path that begins with `/` (below `base_url`) or `//` (from the root of the \
             host)",
            "providers.x.passthrough[3]: can have `**` only as its last segment; `*` stands for a run within one",
        ],
    );
    check(
        "providers: { mock: { passthrough: [GET /a] } }",
        &[
            "providers.mock: is built in; only `mock`, `concurrency`, `queue`, `timeouts`, `retries`, `limits` and `budgets` can be set (give a \
           vendor of your own another name)",
        ],
    );
    check(
        "providers: { x: { base_url: \"https://h\", dialects: [openai-chat], models: [\"\"], mock: {} } }",
        &[
            "providers.x.mock: is only for the provider `mock`; remove it",
            "providers.x.models[0]: must have a name of 1 to 128 bytes, without control characters, or white space \
             around it",
        ],
    );
}

#[test]
fn variables_are_checked() {
    check(
        "providers: { azure: { keys: [{ name: a, value: k }] } }",
        &["providers.azure.variables.resource: is missing; set it"],
    );
    check(
        "providers: { azure-deployments: { keys: [{ name: a, value: k }], variables: { resource: \"a.b\", \
         api_version: \"1/2\", apiversion: \"1\" } } }",
        &[
            "providers.azure-deployments.variables.apiversion: stands nowhere in `base_url` or `endpoints`; remove \
             it; did you mean `api_version`?",
            "providers.azure-deployments.variables.api_version: stands in a path: use letters, digits, `-`, `.`, \
             `_`, `~` and `:`, at most 128",
            "providers.azure-deployments.variables.resource: stands in a host name: use letters, digits and `-`, at \
             most 63",
        ],
    );
    check(
        "providers: { x: { base_url: \"https://{zone}.h\", dialects: [openai-chat] } }",
        &["providers.x.variables.zone: is missing; set it"],
    );
    // An address of one's own needs no more variables than it names.
    let own = "providers: { azure: { base_url: \"https://gate.example/{team}\", keys: [{ name: a, value: k }], \
               variables: { team: blue } } }\nsettings: { require_keys: false }";
    let made = compiled(own).snapshot;
    let ProviderKind::Remote(remote) = &made.providers["azure"].kind else { panic!("not remote") };
    let path = remote.endpoint(trestle_provider::Operation::Chat, "m").unwrap();
    assert_eq!(path.as_str(), "/blue/chat/completions");
}

#[test]
fn settings_of_a_connection_are_checked() {
    check(
        "providers: { x: { base_url: \"http://h\", dialects: [openai-chat], tls: { server_name: h } } }",
        &["providers.x.tls: has no use, for `base_url` is `http://`; remove it or write `https://`"],
    );
    check(
        "providers: { x: { base_url: \"https://h\", dialects: [openai-chat], http2: true, tls: { ca: nonsense, \
         server_name: \"h:1\" } } }",
        &[
            "providers.x.tls.server_name: must be a host name or an address, without a port",
            "providers.x.tls.ca: is not a certificate in PEM; write `file:PATH` or `env:NAME` of one",
            "providers.x.http2: has no use, for `base_url` is `https://`, where the version is negotiated; remove it",
        ],
    );
    let h2c = "providers: { x: { base_url: \"http://h\", dialects: [openai-chat], http2: true } }";
    assert!(compiled(h2c).snapshot.providers["x"].http2_prior_knowledge);
}

#[test]
fn proxies_are_checked() {
    let with = |proxy: &str, more: &str| {
        format!(
            "providers: {{ x: {{ base_url: \"http://h\", dialects: [openai-chat], proxy: \"{proxy}\", keys: [{{ name: a, \
             value: k }}]{more} }} }}"
        )
    };
    let at = "providers.x.proxy";
    let shape = "is no URL of a proxy; write one such as `http://user:password@proxy:3128`";
    check(&with("proxy", ""), &[&format!("{at}: {shape}")]);
    check(&with("socks5://proxy", ""), &[&format!("{at}: must begin with `https://` or `http://`")]);
    check(
        &with("http://169.254.169.254", ""),
        &[&format!("{at}: is a link-local or metadata address, which is never allowed")],
    );
    check(
        &with("http://proxy", ", http2: true"),
        &["providers.x.http2: cannot be had through a proxy without TLS; remove one"],
    );
    // Nothing goes past a proxy that is meant and cannot be had.
    let text = with("env:NONE", "");
    warns(&text, &[&format!("{at}: the variable NONE is not set; this provider is left out")]);
    let made = compiled(&format!("{text}\nsettings: {{ require_keys: false }}"));
    assert!(made.snapshot.providers["x"].keys_missing);
    let shown = format!("{:?}", parse(&with("http://u:hush@proxy", "")).unwrap());
    assert!(!shown.contains("hush"), "{shown}");
    let secret = |proxy: &str| {
        let mut entities = crate::split(&parse(&with(proxy, "")).unwrap()).unwrap();
        crate::secret_values(&mut entities[0]).iter().any(|(path, _)| path == at)
    };
    assert!(
        secret("http://u:hush@proxy") && secret("sealed:v1.x") && secret("env:A") && !secret("http://proxy")
    );
}

#[test]
fn provider_keys_are_checked() {
    let key =
        |value: &str| format!("providers: {{ openai: {{ keys: [{{ name: a, value: \"{value}\" }}] }} }}");
    let at = "providers.openai.keys[0].value";
    let masked = "is masked, not the key itself; write `env:NAME`, `file:PATH` or the whole key";
    for value in ["****", "sk-...abcd", "sk-\u{2026}", "sk-**abcd", "\u{2022}\u{2022}\u{2022}"] {
        check(&key(value), &[&format!("{at}: {masked}")]);
    }
    check(&key(""), &[&format!("{at}: is empty; write `env:NAME` or `file:PATH`")]);
    check(&key("env:"), &[&format!("{at}: names no variable; write `env:NAME`")]);
    check(&key("env:A B"), &[&format!("{at}: names no variable; write `env:NAME`")]);
    check(&key("file:"), &[&format!("{at}: names no file; write `file:PATH`")]);
    check(
        &key("sk with space"),
        &[&format!("{at}: has white space or characters that a header cannot carry")],
    );
    check(
        "providers: { openai: {} }",
        &[
            "providers.openai.keys: is empty; write `keys: [{ name: main, value: env:OPENAI_API_KEY }]` (or `auth: none`)",
        ],
    );
    check(
        "providers: { ollama: { keys: [{ name: a, value: b }] } }",
        &[
            "providers.ollama.keys: would never be sent, for `auth` is `none`; set `auth: bearer` or remove them",
        ],
    );
    check(
        "providers: { openai: { keys: [{ name: a, value: x, weight: 0 }, { name: a, value: y, weight: 0 }] } }",
        &[
            "providers.openai.keys: have no weight above 0; give one of them a share",
            "providers.openai.keys[1].name: `a` is there twice; rename one",
        ],
    );
}

#[test]
fn unreadable_provider_keys_are_left_out() {
    let text = "providers: { openai: { keys: [{ name: a, value: env:NONE }, { name: b, value: env:KEY }] }, \
                groq: { keys: [{ name: a, value: env:EMPTY }, { name: b, value: file:/none }, \
                { name: c, value: env:SPACED }] } }\nsettings: { require_keys: false }";
    let made = compiled(text);
    let expected = [
        "providers.groq.keys[0].value: `env:EMPTY` is empty; this key is left out",
        "providers.groq.keys[1].value: there is no file /none; this key is left out",
        "providers.groq.keys[2].value: the key has white space or characters that a header cannot carry; it is left out",
        "providers.openai.keys[0].value: the variable NONE is not set; this key is left out",
    ];
    assert_eq!(lines(&made.warnings), expected);
    let (openai, groq) = (&made.snapshot.providers["openai"], &made.snapshot.providers["groq"]);
    assert_eq!((openai.keys_missing, openai.credentials.len()), (false, 1));
    assert_eq!((groq.keys_missing, groq.credentials.len()), (true, 0));
    let (name, value) = openai.credentials[0].header.clone().unwrap();
    assert_eq!((name.as_str(), value.to_str().unwrap()), ("authorization", "Bearer sk-fromenv"));
}

#[test]
fn the_mock_is_always_there() {
    check(
        "providers: { mock: { base_url: \"http://h\" } }",
        &[
            "providers.mock: is built in; only `mock`, `concurrency`, `queue`, `timeouts`, `retries`, `limits` and `budgets` can be set (give a \
           vendor of your own another name)",
        ],
    );
    check(
        "providers: { mock: { mock: { status: 200, every: 0, delay_ms: 600001 } } }",
        &[
            "providers.mock.mock.status: is 200; must be from 400 to 599",
            "providers.mock.mock.every: is 0; must be from 1 to 4294967295",
            "providers.mock.mock.delay_ms: is 600001; must be from 0 to 600000",
        ],
    );
    let made = compiled("{}");
    let mock = &made.snapshot.providers["mock"];
    assert_eq!((mock.dialects.len(), mock.credentials.len(), mock.keys_missing), (6, 1, false));
    assert!(mock.credentials[0].header.is_none());
    assert!(made.snapshot.direct["mock/echo"].listed);
    let made =
        compiled("providers: { mock: { mock: { delay_ms: 5 }, concurrency: 3, timeouts: { idle_ms: 9 } } }");
    let mock = &made.snapshot.providers["mock"];
    assert!(matches!(&mock.kind, crate::ProviderKind::Mock(faults) if faults.delay_ms == 5));
    assert_eq!((mock.concurrency, mock.times.idle), (3, Duration::from_millis(9)));
}

#[test]
fn groups_are_checked() {
    let unknown =
        "`groq` is not in `providers`; add it there (it is a listed vendor, so its keys are enough)";
    check(
        "models: { a: { targets: [] } }",
        &["models.a.targets: is empty; add a target such as `{ model: openai/gpt-4o }`"],
    );
    check(
        "models: { a: { targets: [{ model: groq/x }] } }",
        &[&format!("models.a.targets[0].model: {unknown}")],
    );
    check(
        "models: { a: { targets: [{ model: mcok/x }] } }",
        &["models.a.targets[0].model: `mcok` is not in `providers`; did you mean `mock`?"],
    );
    for bare in ["gpt", "/gpt", "mock/"] {
        check(
            &format!("models: {{ a: {{ targets: [{{ model: {bare} }}] }} }}"),
            &[&format!(
                "models.a.targets[0].model: `{bare}` names no provider; write `provider/model`, with one of `mock`"
            )],
        );
    }
    check(
        "models: { a: { targets: [{ model: mock/x, weight: 0 }] } }",
        &["models.a.targets: have no weight above 0; give one of them a share"],
    );
    check(
        "models: { mock/a: { targets: [{ model: mock/x }] }, \"b*c*\": { targets: [{ model: mock/x }] }, \n\
         c: { targets: [{ model: mock/* }], fallbacks: [mock/y-*] } }",
        &[
            "models[\"b*c*\"]: must not have more than one `*` in its name",
            "models.c.targets: `mock/*` has a `*` that the name `c` has not",
            "models.c.fallbacks: `mock/y-*` has a `*` that the name `c` has not",
            "models[\"mock/a\"]: would hide models of the provider `mock`; choose another name",
        ],
    );
    check(
        "models: { a: { targets: [{ model: b }] }, b: { targets: [{ model: mock/x }] } }",
        &[
            "models.a.targets[0].model: is a name in `models`; a target must be `provider/model` (names may stand in \
         `fallbacks`)",
        ],
    );
    check(
        "models: { a: { targets: [{ model: mock/x, params: { model: x, stream: true, messages: [], top_p: 1 } }] } }",
        &[
            "models.a.targets[0].params.messages: cannot be set for a target; remove it",
            "models.a.targets[0].params.model: cannot be set for a target; remove it",
            "models.a.targets[0].params.stream: cannot be set for a target; remove it",
        ],
    );
}

#[test]
fn fallbacks_are_checked() {
    let group = |name: &str, fallbacks: &str| {
        format!("  {name}: {{ targets: [{{ model: mock/{name} }}], fallbacks: [{fallbacks}] }}\n")
    };
    check(
        &format!("models:\n{}", group("chat", "chatt, groq/x, { model: nope/y, retries: { max: 11 } }")),
        &[
            "models.chat.fallbacks[0]: `chatt` is neither a name in `models` nor `provider/model`; did you mean `chat`?",
            "models.chat.fallbacks[1]: `groq` is not in `providers`; add it there (it is a listed vendor, so its keys are \
         enough)",
            "models.chat.fallbacks[2].model: `nope` is not in `providers`",
            "models.chat.fallbacks[2].retries.max: is 11; must be from 0 to 10",
        ],
    );
    check(
        &format!("models:\n{}", group("a", "a")),
        &["models.a.fallbacks: go in a circle: `a` -> `a`; remove one of them"],
    );
    let circle = group("c", "a") + &group("b", "c") + &group("a", "b") + &group("before", "c");
    check(
        &format!("models:\n{circle}"),
        &["models.a.fallbacks: go in a circle: `a` -> `b` -> `c` -> `a`; remove one of them"],
    );
    let chain: String = (0..17).map(|i| group(&format!("g{i:02}"), &format!("g{:02}", i + 1))).collect();
    check(
        &format!("models:\n{chain}{}", group("g17", "mock/x")),
        &[
            "models.g00.fallbacks: lead over more than 16 names in a row; name targets instead",
            "models.g01.fallbacks: lead over more than 16 names in a row; name targets instead",
        ],
    );
    let many = vec!["mock/x"; 257].join(", ");
    check(
        &format!("models:\n{}{}", group("a", "b, mock/y, mock/z"), group("b", &many)),
        &[
            "models.a.fallbacks: lead to more than 256 targets; remove some",
            "models.b.fallbacks: lead to more than 256 targets; remove some",
        ],
    );
    check(
        &format!("models:\n{}", group("a", &many)),
        &["models.a.fallbacks: lead to more than 256 targets; remove some"],
    );
}

#[test]
fn limits_are_checked() {
    check(
        "settings: { attempts_max: 0, body_bytes_max: 2000, buffered_bytes_max: 1000, provider_concurrency: 0, \
         timeouts: { connect_ms: 0, total_ms: 86400001 }, retries: { max: 11, backoff_ms: 9000 } }",
        &[
            "settings.attempts_max: is 0; must be from 1 to 32",
            "settings.body_bytes_max: must be at most `buffered_bytes_max` (1000), or no body of that size is let in",
            "settings.provider_concurrency: is 0; must be from 1 to 1000000",
            "settings.timeouts.connect_ms: is 0; must be from 1 to 86400000",
            "settings.timeouts.total_ms: is 86400001; must be from 1 to 86400000",
            "settings.retries.max: is 11; must be from 0 to 10",
            "settings.retries.backoff_ms: must be at most `backoff_max_ms` (5000)",
        ],
    );
    check(
        "providers: { vllm: { concurrency: 0, queue: 1000001, timeouts: { idle_ms: 0 } } }",
        &[
            "providers.vllm.concurrency: is 0; must be from 1 to 1000000",
            "providers.vllm.queue: is 1000001; must be from 0 to 1000000",
            "providers.vllm.timeouts.idle_ms: is 0; must be from 1 to 86400000",
        ],
    );
    check(
        "settings: { attempts_max: 33, body_bytes_max: 0 }",
        &[
            "settings.attempts_max: is 33; must be from 1 to 32",
            "settings.body_bytes_max: is 0; must be from 1 to 1099511627776",
        ],
    );
}

#[test]
fn caller_keys_are_checked() {
    let clear = "is a key in clear; write `sha256:HEX`, made with `printf %s KEY | sha256sum`, or `env:NAME` or \
                 `file:PATH` of the key";
    let hex = "must be `sha256:` and 64 hexadecimal digits, made with `printf %s KEY | sha256sum`";
    check("keys: { a: { value: sk-secret } }", &[&format!("keys.a.value: {clear}")]);
    check(
        "keys: { a: { value: sha256:abc }, b: { value: \"sha256:****\" } }",
        &[&format!("keys.a.value: {hex}"), &format!("keys.b.value: {hex}")],
    );
    check(
        "keys: { a: { value: env:KEY, expires_at: tomorrow, tags: [\" x\"], previous: { value: env:BATCH_KEY, expires_at: \"1\" } } }",
        &[
            "keys.a.tags[0]: must have 1 to 128 bytes, without control characters, or white space around it",
            "keys.a.expires_at: is not a time in UTC; write it as `2027-01-31T00:00:00Z`",
            "keys.a.previous.expires_at: is not a time in UTC; write it as `2027-01-31T00:00:00Z`",
        ],
    );
    check("keys: { a: { value: \"\" } }", &["keys.a.value: is empty; write `env:NAME` or `file:PATH`"]);
    check(
        "keys: { a: { value: \"tr-****\" } }",
        &["keys.a.value: is masked, not the key itself; write `env:NAME`, `file:PATH` or the whole key"],
    );
    let same = hash_text("sk-fromenv");
    check(
        &format!("keys: {{ a: {{ value: env:KEY }}, b: {{ value: \"{same}\" }} }}"),
        &["keys.b.value: is the same key as that of `a`; give each its own"],
    );
    check(
        "keys: { a: { value: env:KEY, models: [\"\"] } }",
        &["keys.a.models[0]: is empty; write a name in `models` or a pattern such as `openai/*`"],
    );
}

#[test]
fn warnings_do_not_hinder() {
    warns(
        "keys: { a: { value: env:NONE } }",
        &["keys.a.value: the variable NONE is not set; this key is left out"],
    );
    warns("keys: { a: { value: env:EMPTY } }", &["keys.a.value: `env:EMPTY` is empty; this key is left out"]);
    warns(
        "models: { chat: { targets: [{ model: mock/x }] } }\n\
         keys: { a: { value: env:KEY, models: [chta, mokc/x, gpt-4*, mock/*, \"*\", \"*-mini\", \"mo*\", \"*/x\"] } }",
        &[
            "keys.a.models[0]: `chta` is no name in `models` and matches no `provider/model`; did you mean `chat`?",
            "keys.a.models[1]: `mokc` is not in `providers`, so this matches nothing; did you mean `mock`?",
            "keys.a.models[2]: `gpt-4*` is no name in `models` and matches no `provider/model`; write `*/gpt-4*` for any \
             provider's",
        ],
    );
    warns(
        "providers: { x: { base_url: \"https://h\", dialects: [openai-chat], tls: { ca: file:/none } } }",
        &["providers.x.tls.ca: there is no file /none; only the public authorities are trusted"],
    );
    assert_eq!(
        lines(&compiled("{}").warnings),
        ["keys: is empty, so every request is refused; add a key or set `settings.require_keys: false`",]
    );
}

#[test]
fn problems_of_all_parts_come_at_once() {
    check(
        "providers: { x: { like: y } }\nmodels: { a: { targets: [{ model: x/m }, { model: z/m }] } }\n\
         keys: { k: { value: clear } }\nsettings: { attempts_max: 0 }",
        &[
            "settings.attempts_max: is 0; must be from 1 to 32",
            "providers.x.like: `y` is not a listed vendor",
            "models.a.targets[1].model: `z` is not in `providers`",
            "keys.k.value: is a key in clear; write `sha256:HEX`, made with `printf %s KEY | sha256sum`, or `env:NAME` or \
             `file:PATH` of the key",
        ],
    );
}
