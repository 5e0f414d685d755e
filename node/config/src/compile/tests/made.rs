//! What documents are compiled to.

use super::*;
use crate::{ResolvedTarget, hash_key, hash_text};
use std::time::Duration;

fn target(snapshot: &Snapshot, name: &str) -> Option<Arc<crate::TargetConfig>> {
    match snapshot.resolve(name)? {
        ResolvedTarget::Target(target) => Some(target),
        ResolvedTarget::Group(group) => panic!("{} is a group", group.name),
    }
}

fn group(snapshot: &Snapshot, name: &str) -> Arc<crate::Group> {
    Arc::clone(&snapshot.groups[name])
}

fn caller(snapshot: &Snapshot, secret: &str) -> Arc<crate::Caller> {
    Arc::clone(snapshot.callers.get(&hash_key(secret)).unwrap())
}

#[test]
fn the_full_sample_compiles() {
    let made = compiled(include_str!("../../../samples/full.yaml"));
    assert_eq!(
        lines(&made.warnings),
        [
            "providers.openai.keys[1].value: there is no file /run/secrets/openai; this key is left out",
            "keys.old.previous.value: the variable OLDER_KEY is not set; this key is left out",
        ]
    );
    let snapshot = made.snapshot;
    let chat = group(&snapshot, "chat");
    let names = |targets: &[Arc<crate::TargetConfig>]| -> Vec<_> {
        targets.iter().map(|t| t.name.to_string()).collect()
    };
    assert_eq!(names(&chat.targets), ["openai/gpt-4o-mini", "anthropic/claude-sonnet-5"]);
    assert_eq!(names(&chat.fallbacks), ["local/llama-3.1-8b", "inhouse/small", "mock/echo"]);
    let claude = &chat.targets[1];
    assert_eq!((claude.weight, claude.params[0].0.as_str()), (20, "temperature"));
    assert_eq!(&claude.params[0].1.bytes()[..], b"0.2");
    assert_eq!(claude.times.first_token, Duration::from_secs(60));
    assert_eq!(claude.times.idle, Duration::from_secs(30));
    assert_eq!(claude.times.connect, Duration::from_secs(5));
    assert_eq!(chat.targets[0].retries.max, 3);
    let small = &group(&snapshot, "steady").targets[0];
    assert_eq!((small.retries.max, small.times.total), (0, Duration::from_secs(30)));
    let (local, inhouse) = (&snapshot.providers["local"], &snapshot.providers["inhouse"]);
    assert_eq!((local.concurrency, local.queue, local.private_addresses), (64, 256, true));
    assert!(local.credentials[0].header.is_none() && !local.keys_missing && !local.quirks.developer_role);
    assert!(!snapshot.providers["openai"].private_addresses);
    assert!(inhouse.tls_ca.is_some());
    assert_eq!(inhouse.forward_headers, ["x-experiment"]);
    assert_eq!(snapshot.callers.len(), 3);
    assert!(caller(&snapshot, "hello").disabled && !caller(&snapshot, "abc").disabled);
    assert_eq!(&*caller(&snapshot, "batch-secret").name, "batch");
    let web = caller(&snapshot, "abc");
    let ids: Vec<_> = web.limits.iter().map(|limit| format!("{} {}", limit.owner.name, limit.name)).collect();
    let expected =
        ["acme usd/year", "growth usd/month", "ada fair", "web requests/1m", "web output_tokens/1d"];
    assert_eq!(ids, expected);
    assert_eq!(web.limits_at("openai")[0].amount, 250_000_000);
    assert_eq!(snapshot.revision, 7);
}

#[test]
fn names_resolve() {
    let snapshot = compiled(
        "providers: { openrouter: { keys: [{ name: a, value: env:KEY }], models: [x/shown] } }\n\
         models: { chat: { targets: [{ model: openrouter/x/y, params: { a: 1 } }] }, no/provider: \
         { targets: [{ model: mock/echo }] } }",
    )
    .snapshot;
    let check = |name: &str, expected: Option<(&str, &str, bool)>| {
        let found = target(&snapshot, name);
        let found = found.as_ref().map(|target| (&*target.provider.name, &*target.model, target.listed));
        assert_eq!(found, expected, "{name}");
    };
    check("openrouter/meta-llama/llama-3:free", Some(("openrouter", "meta-llama/llama-3:free", false)));
    check("openrouter/x/y", Some(("openrouter", "x/y", true)));
    check("openrouter/x/shown", Some(("openrouter", "x/shown", true)));
    check("openrouter/a?b#c", Some(("openrouter", "a?b#c", false)));
    check("openrouter//x", Some(("openrouter", "/x", false)));
    check("openrouter/", None);
    check("openrouter", None);
    check("/x", None);
    check("", None);
    check("openai/gpt-4o", None);
    check("OpenRouter/x", None);
    check("openrouter/a\nb", None);
    check(&format!("openrouter/{}", "x".repeat(512)), None);
    assert!(matches!(snapshot.resolve("chat"), Some(ResolvedTarget::Group(_))));
    assert!(matches!(snapshot.resolve("no/provider"), Some(ResolvedTarget::Group(_))));
    assert!(target(&snapshot, "openrouter/x/y").unwrap().params.is_empty(), "params are the group's");
    let twice = (target(&snapshot, "openrouter/x/y").unwrap(), target(&snapshot, "openrouter/x/y").unwrap());
    assert!(Arc::ptr_eq(&twice.0, &twice.1), "made once");
}

#[test]
fn grants_are_of_groups_and_of_targets() {
    let snapshot = compiled(
        "models: { chat: { targets: [{ model: mock/a }] } }\n\
         keys: { a: { value: env:KEY, models: [chat, mock/b*] }, b: { value: env:BATCH_KEY } }",
    )
    .snapshot;
    let some = &caller(&snapshot, "sk-fromenv").grants;
    assert!(some.allow(Some("chat"), "mock/a"));
    assert!(!some.allow(None, "mock/a"));
    assert!(!some.allow(Some("other"), "mock/a"));
    assert!(some.allow(None, "mock/b2"));
    assert!(some.allow(Some("other"), "mock/b2"));
    assert!(caller(&snapshot, "batch-secret").grants.allow(None, "any/thing"));
}

#[test]
fn grants_reach_a_provider_by_any_of_its_models() {
    let snapshot = compiled(
        "providers: { other: { base_url: 'http://a', dialects: [openai-chat], auth: none } }\n\
         models: { chat: { targets: [{ model: mock/a }], fallbacks: [other/b] }, own: { targets: [{ model: mock/a }] } }",
    )
    .snapshot;
    let reaches = |items: &[&str]| {
        let items = items.iter().map(|item| (*item).into()).collect();
        let grants = crate::Grants { all: false, items };
        ["mock", "other"].map(|name| snapshot.reaches(&grants, &snapshot.providers[name]))
    };
    for (items, expected) in [
        (&["chat"][..], [true, true]),
        (&["own"], [true, false]),
        (&["other/b"], [false, true]),
        (&["other/*"], [false, true]),
        (&["o*"], [false, true]),
        (&["*"], [true, true]),
        (&["othe", "x/*", "mock"], [false, false]),
        (&[], [false, false]),
    ] {
        assert_eq!(reaches(items), expected, "{items:?}");
    }
    assert!(
        snapshot.reaches(&crate::Grants { all: true, ..Default::default() }, &snapshot.providers["mock"])
    );
}

#[test]
fn groups_that_are_fallen_back_to_are_laid_flat() {
    let snapshot = compiled(
        "models:\n  a: { targets: [{ model: mock/a }], fallbacks: [mock/first, b, c, mock/last] }\n  \
         b: { targets: [{ model: mock/light, weight: 1 }, { model: mock/heavy, weight: 9 }], fallbacks: [c] }\n  \
         c: { strategy: ordered, targets: [{ model: mock/c1, weight: 1 }, { model: mock/c2, weight: 9 }] }\n",
    )
    .snapshot;
    let names: Vec<_> =
        group(&snapshot, "a").fallbacks.iter().map(|target| target.model.to_string()).collect();
    assert_eq!(names, ["first", "heavy", "light", "c1", "c2", "last"]);
}

#[test]
fn a_vendors_row_is_laid_under_the_document() {
    let snapshot = compiled(
        "providers: { deepseek: { keys: [{ name: a, value: env:KEY }], endpoints: { chat: /x }, \
         forward_headers: [X-B, x-a, x-b], \
         headers: { Anthropic-Version: \"2099-01-01\" }, quirks: { flatten_content: true } } }",
    )
    .snapshot;
    let deepseek = &snapshot.providers["deepseek"];
    let crate::ProviderKind::Remote(vendor) = &deepseek.kind else { panic!("not a vendor") };
    let path = |operation| vendor.endpoint(operation, "m").map(|path| path.to_string());
    use trestle_provider::Operation::{Chat, Embeddings, Messages};
    assert_eq!(path(Chat).as_deref(), Some("/v1/x"));
    assert_eq!(path(Messages).as_deref(), Some("/anthropic/v1/messages"));
    assert_eq!(path(Embeddings), None);
    let mut headers = http::HeaderMap::new();
    vendor.sign(&mut headers);
    assert_eq!(headers["anthropic-version"], "2099-01-01");
    assert_eq!(deepseek.forward_headers, ["x-a", "x-b"]);
    assert!(deepseek.quirks.flatten_content && deepseek.quirks.developer_role);
}

#[test]
fn the_same_key_has_the_same_fingerprint() {
    let print = |text: &str| compiled(text).snapshot.providers["openai"].credentials[0].fingerprint;
    let one = print("providers: { openai: { keys: [{ name: a, value: env:KEY }] } }");
    assert_eq!(one, print("providers: { openai: { keys: [{ name: a, value: sk-fromenv, weight: 5 }] } }"));
    assert_ne!(one, print("providers: { openai: { keys: [{ name: a, value: sk-other }] } }"));
}

#[test]
fn debug_shows_no_secret() {
    let text = "providers: { openai: { keys: [{ name: a, value: sk-literal }, { name: b, value: env:KEY }] } }\n\
                keys: { a: { value: env:BATCH_KEY } }";
    let mut document = parse(text).unwrap();
    let made = compile(&document, 1, &Fixed).unwrap();
    document.keys.insert(
        "clear".to_owned(),
        crate::CallerKey { value: "tr-literal".to_owned(), ..Default::default() },
    );
    let problems = compile(&document, 1, &Fixed).map(|_| ()).unwrap_err();
    let shown = format!("{document:#?}{made:#?}{problems:?}{problems}{}", crate::schema());
    assert!(shown.contains("env:KEY") && shown.contains("keys.clear.value"), "{shown}");
    for secret in ["sk-literal", "tr-literal", "sk-fromenv", "batch-secret"] {
        assert!(!shown.contains(secret), "{secret}");
    }
}

#[test]
fn a_hundred_thousand_keys_compile() {
    let mut document = parse("models: { chat: { targets: [{ model: mock/echo }] } }").unwrap();
    document.keys.extend((0..100_000).map(|i| {
        let models = vec!["chat".to_owned(), "mock/e*".to_owned()];
        (
            format!("key-{i}"),
            crate::CallerKey { value: hash_text(&i.to_string()), models, ..Default::default() },
        )
    }));
    let snapshot = compile(&document, 1, &Fixed).unwrap().snapshot;
    assert_eq!(snapshot.callers.len(), 100_000);
    assert_eq!(&*caller(&snapshot, "99999").name, "key-99999");
}

#[test]
fn keys_expire_and_are_rotated() {
    let snapshot = compiled(
        "keys: { a: { value: env:KEY, models: [mock/a], expires_at: 2027-02-01T00:00:00Z, \
         previous: { value: env:BATCH_KEY, expires_at: 2027-01-01T00:00:00Z }, tags: [x, y z] } }",
    )
    .snapshot;
    let (now, former) = (caller(&snapshot, "sk-fromenv"), caller(&snapshot, "batch-secret"));
    let at = |text: &str| Some(humantime::parse_rfc3339(text).unwrap());
    assert_eq!((now.expires_at, former.expires_at), (at("2027-02-01T00:00:00Z"), at("2027-01-01T00:00:00Z")));
    assert_eq!((&*former.name, former.grants.allow(None, "mock/b")), ("a", false));
    assert_eq!(snapshot.callers.len(), 1);
}

/// What of a snapshot can be compared.
fn shown(snapshot: &Snapshot) -> String {
    let mut callers: Vec<_> = snapshot.callers.iter().map(|caller| format!("{caller:?}")).collect();
    let mut rest: Vec<_> = snapshot.providers.values().map(|provider| format!("{provider:?}")).collect();
    rest.extend(snapshot.groups.values().map(|group| format!("{group:?}")));
    rest.extend(snapshot.direct.values().map(|target| format!("{target:?}")));
    callers.sort();
    rest.sort();
    format!("{callers:?} {rest:?} {:?} {}", snapshot.settings, snapshot.revision)
}

#[test]
fn entities_changed_one_by_one_are_as_if_compiled_at_once() {
    let texts = [
        "{}",
        "providers: { vllm: { base_url: \"http://vllm/v1\", dialects: [openai-chat] } }\n\
         models: { m: { targets: [{ model: vllm/a }] }, n: { targets: [{ model: mock/b }], fallbacks: [m] } }\n\
         keys: { a: { value: env:KEY, models: [m] }, b: { value: env:BATCH_KEY } }\nsettings: { attempts_max: 3 }",
        // Keys that change places, a model that goes with the fallback to it, another provider.
        "providers: { vllm: { base_url: \"http://other/v1\", dialects: [openai-chat] } }\n\
         models: { n: { targets: [{ model: mock/b }, { model: vllm/c }] } }\n\
         keys: { a: { value: env:BATCH_KEY, models: [m] }, b: { value: env:KEY } }",
        include_str!("../../../samples/full.yaml"),
        // Owners that change under keys that do not, and with one that does.
        "customers: { c: { limits: [{ concurrent: 1 }] } }\nteams: { t: { customer: c, tags: [x] }, s: {} }\nusers: { u: { team: t } }\n\
         keys: { a: { value: env:KEY, user: u, limits: [{ concurrent: 2 }], previous: { value: env:OPENAI_API_KEY, expires_at: 2027-01-01T00:00:00Z } }, \
         b: { value: env:BATCH_KEY, team: s }, lost: { value: env:NONE, team: t } }",
        "customers: { d: { limits: [{ concurrent: 9 }] } }\nteams: { t: { customer: d, limits: [{ requests: 1, per: 1m }] } }\nusers: { u: { team: t }, v: {} }\n\
         keys: { a: { value: env:KEY, user: u, limits: [{ concurrent: 2 }], previous: { value: env:OPENAI_API_KEY, expires_at: 2027-01-01T00:00:00Z } }, \
         b: { value: env:BATCH_KEY, team: t }, lost: { value: env:NONE, user: v } }",
        "{}",
    ];
    let mut made = Compilation::new(&Fixed);
    let mut before = Vec::new();
    for text in texts {
        let document = parse(text).unwrap();
        let after = crate::split(&document).unwrap();
        let changes = crate::differences(&before, &after);
        let unchanged = made.clone();
        let was = shown(unchanged.snapshot());
        made.change(7, &changes, &Fixed).unwrap();
        assert_eq!(shown(made.snapshot()), shown(&compiled(text).snapshot), "{text}");
        assert_eq!(shown(unchanged.snapshot()), was, "{text}");
        assert_eq!(made.base().models, document.models);
        before = after;
    }
}

#[test]
fn a_change_of_a_key_compiles_that_key_alone() {
    let mut made = Compilation::new(&Fixed);
    let key = |text: &str| crate::differences(&[], &crate::split(&parse(text).unwrap()).unwrap());
    made.change(1, &key("keys: { a: { value: env:KEY }, b: { value: env:BATCH_KEY } }"), &Fixed).unwrap();
    let mut next = made.clone();
    next.change(2, &key("keys: { a: { value: env:KEY, disabled: true } }"), &Fixed).unwrap();
    let (one, two) = (made.snapshot(), next.snapshot());
    assert!(Arc::ptr_eq(&one.providers, &two.providers) && Arc::ptr_eq(&one.direct, &two.direct));
    assert!(Arc::ptr_eq(one.callers.named("b").unwrap(), two.callers.named("b").unwrap()));
    assert!(!caller(one, "sk-fromenv").disabled && caller(two, "sk-fromenv").disabled);
    let taken = next.change(3, &key("keys: { c: { value: env:KEY } }"), &Fixed).unwrap_err();
    assert_eq!(lines(&taken.0), ["keys.c.value: is the same key as that of `a`; give each its own"]);
    let entity = |kind, id: &str, text: &str| {
        crate::Difference::Set(crate::Entity::new(kind, id, serde_json::from_str(text).unwrap()))
    };
    let wrong = [
        entity(Kind::Model, "m", r#"{"targets":[{"model":"no/x"}],"fallbacks":["mock/a"]}"#),
        entity(Kind::Key, "d", r#"{"value":"clear","tagz":[]}"#),
        entity(Kind::Key, "e", r#"{"value":"clear"}"#),
    ];
    let problems = made.clone().change(3, &wrong, &Fixed).unwrap_err();
    let paths: Vec<_> = problems.0.iter().map(|problem| problem.path.as_str()).collect();
    assert_eq!(paths, ["keys.d.tagz", "models.m.targets[0].model", "keys.e.value"]);
}

/// The targets that a name leads to; empty for none.
fn leads(snapshot: &Snapshot, name: &str) -> Vec<String> {
    match snapshot.resolve(name) {
        None => Vec::new(),
        Some(crate::ResolvedTarget::Target(target)) => vec![target.name.to_string()],
        Some(crate::ResolvedTarget::Group(group)) => {
            group.targets.iter().chain(&group.fallbacks).map(|target| target.name.to_string()).collect()
        }
    }
}

#[test]
fn a_star_in_a_name_stands_for_the_same_in_its_targets() {
    let snapshot = compiled(
        "models:\n  fast-*: { targets: [{ model: mock/* }, { model: mock/fixed }], fallbacks: [mock/*-old] }\n  \
         fast-x*: { targets: [{ model: mock/x }] }\n  fast-a: { targets: [{ model: mock/a1 }] }",
    )
    .snapshot;
    assert_eq!(leads(&snapshot, "fast-lorem"), ["mock/lorem", "mock/fixed", "mock/lorem-old"]);
    assert_eq!(leads(&snapshot, "fast-x1"), ["mock/x"], "the longer name");
    assert_eq!(leads(&snapshot, "fast-a"), ["mock/a1"], "no star at all");
    assert!(leads(&snapshot, "fast-").is_empty() && leads(&snapshot, "slow-a").is_empty());
}

#[test]
fn bare_names_lead_to_providers_that_have_the_model() {
    let providers = "providers:\n  openai: { keys: [{ name: a, value: env:KEY }] }\n  \
                     anthropic: { keys: [{ name: a, value: env:KEY }] }\n  \
                     second: { like: openai, keys: [{ name: a, value: env:KEY }] }\n  \
                     own: { base_url: 'http://a/v1', dialects: [openai-chat], auth: none, models: [gpt-4o, bert, meta/llama] }\n";
    let snapshot = compiled(providers).snapshot;
    assert_eq!(leads(&snapshot, "claude-sonnet-4-5"), ["anthropic/claude-sonnet-4-5"]);
    assert_eq!(leads(&snapshot, "gpt-4o"), ["own/gpt-4o", "openai/gpt-4o", "second/gpt-4o"]);
    assert_eq!(leads(&snapshot, "bert"), ["own/bert"]);
    assert_eq!(leads(&snapshot, "meta/llama"), ["own/meta/llama"], "no provider is called meta");
    assert!(leads(&snapshot, "nobodys-model").is_empty());
    let Some(crate::ResolvedTarget::Target(target)) = snapshot.resolve("claude-sonnet-4-5") else { panic!() };
    assert!(
        target.known.as_ref().is_some_and(|model| model.context_max.is_some() && !model.price.is_empty())
    );
}

#[test]
fn the_catalog_can_be_said_otherwise() {
    let openai = "providers: { openai: { keys: [{ name: a, value: env:KEY }] } }\n";
    let snapshot = compiled(&format!("{openai}catalog: {{ openai/gpt-9: {{ context_max: 7 }} }}")).snapshot;
    assert_eq!(leads(&snapshot, "gpt-9"), ["openai/gpt-9"]);
    assert_eq!(snapshot.catalog.find("openai", "gpt-9").unwrap().context_max, Some(7));
    let snapshot = compiled("settings: { catalog: 'file:/etc/models.jsonl' }").snapshot;
    assert_eq!(snapshot.catalog.find("inhouse", "bert").unwrap().context_max, Some(512));
    assert!(snapshot.catalog.find("openai", "gpt-4o").is_none());
    check("settings: { catalog: models.jsonl }", &["settings.catalog: must be `file:PATH`"]);
    let wrong = compile(
        &parse("catalog: { gpt: {} }\nsettings: { catalog: 'file:/etc/wrong.jsonl' }").unwrap(),
        1,
        &Fixed,
    );
    let paths: Vec<_> = wrong.unwrap_err().0.into_iter().map(|problem| problem.path).collect();
    assert_eq!(paths, ["settings.catalog", "catalog.gpt"]);
}
