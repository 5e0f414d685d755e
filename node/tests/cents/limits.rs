//! Who asks under which limits, and whether what the limits have counted is what the ledger says.

use crate::traffic::KINDS;
use serde_json::{Value, json};
use std::{collections::HashMap, fmt::Write, fs, path::Path};
use trestle_config::{Owner, OwnerKind, hash_text};
use trestle_counters::{LimitId, Settlement, WindowId};
use trestle_store::{Line, Tokens};

/// Keys, each with its team.
pub(crate) const KEYS: [(&str, &str); 12] = [
    ("k0", "tight"),
    ("k1", "tight"),
    ("k2", "wide"),
    ("k3", "wide"),
    ("k4", "few"),
    ("k5", "few"),
    ("k6", "soft"),
    ("k7", "soft"),
    ("k8", "one"),
    ("k9", "one"),
    ("k10", "bound"),
    ("k11", "bound"),
];

#[derive(Debug, Clone, Copy, PartialEq)]
enum Measure {
    Requests,
    Tokens,
    NanoUsd,
}

/// A limit whose window outlasts the test.
struct Bound {
    owner: (OwnerKind, &'static str),
    name: &'static str,
    measure: Measure,
    /// For each round.
    amount: u64,
    strict: bool,
}

const fn bound(
    owner: (OwnerKind, &'static str),
    name: &'static str,
    (measure, amount): (Measure, u64),
    strict: bool,
) -> Bound {
    Bound { owner, name, measure, amount, strict }
}

const BOUNDS: [Bound; 12] = [
    bound((OwnerKind::Customer, "acme"), "usd/year", (Measure::NanoUsd, 12_000_000), true),
    bound((OwnerKind::Team, "tight"), "usd/month", (Measure::NanoUsd, 4_000_000), true),
    bound((OwnerKind::Team, "wide"), "usd/month", (Measure::NanoUsd, 6_000_000), true),
    bound((OwnerKind::Team, "few"), "requests/1d", (Measure::Requests, 60), true),
    bound((OwnerKind::Team, "soft"), "tokens/1d", (Measure::Tokens, 4_000), false),
    bound((OwnerKind::Team, "bound"), "tokens/1d", (Measure::Tokens, 6_000), true),
    bound((OwnerKind::Key, "k2"), "usd/month", (Measure::NanoUsd, 3_000_000), true),
    bound((OwnerKind::Key, "k8"), "usd/month", (Measure::NanoUsd, 900_000), true),
    bound((OwnerKind::KeyProvider, "k6@anthropic"), "usd/month", (Measure::NanoUsd, 1_200_000), true),
    bound((OwnerKind::KeyProvider, "k4@openai"), "requests/1d", (Measure::Requests, 15), true),
    bound((OwnerKind::Provider, "anthropic"), "usd/month", (Measure::NanoUsd, 40_000_000), true),
    bound((OwnerKind::Provider, "openai"), "tokens/1d", (Measure::Tokens, 14_000), false),
];

/// A document with these owners, and a name with a star for each kind of behaviour.
pub(crate) fn document((openai, anthropic): (&str, &str), rounds: u64) -> String {
    let keys = |vendor: &str| {
        let keys = (0..6).map(|key| format!("{{ name: {vendor}{key}, value: env:UPSTREAM_{key} }}"));
        keys.collect::<Vec<_>>().join(", ")
    };
    let limits = |kind, name: &str| written((kind, name), rounds);
    let (at_openai, at_anthropic) =
        (limits(OwnerKind::Provider, "openai"), limits(OwnerKind::Provider, "anthropic"));
    // What stands behind `@` is a version to the catalog: whatever it is, the price is that of the model.
    let mut text = format!(
        "providers:\n  openai: {{ base_url: '{openai}/v1', dialects: [openai-chat], keys: [{}], {at_openai} }}\n  \
         anthropic: {{ base_url: '{anthropic}/v1', keys: [{}], {at_anthropic} }}\nmodels:\n",
        keys("openai"),
        keys("anthropic")
    );
    let (gpt, claude) = ("openai/gpt-4o-mini@", "anthropic/claude-haiku-4-5@");
    for (kind, settings) in KINDS {
        for (vendor, first, second) in [("oa", gpt, claude), ("an", claude, gpt)] {
            let _ = writeln!(
                text,
                "  '{vendor}-{kind}-*': {{ targets: [{{ model: '{first}+{settings}+name=*' }}], fallbacks: \
                 ['{second}+tokens=20+name=*'] }}"
            );
        }
    }
    let _ = writeln!(text, "customers:\n  acme: {{ {} }}\nteams:", limits(OwnerKind::Customer, "acme"));
    for team in ["tight", "wide", "few", "soft", "one", "bound"] {
        let customer = if matches!(team, "wide" | "soft") { "customer: acme, " } else { "" };
        let _ = writeln!(text, "  {team}: {{ {customer}{} }}", limits(OwnerKind::Team, team));
    }
    text.push_str("keys:\n");
    for (key, team) in KEYS {
        let (hash, limits) = (hash_text(&format!("sk-{key}")), limits(OwnerKind::Key, key));
        let there = ["openai", "anthropic"].map(|provider| {
            let name = format!("{key}@{provider}");
            format!("{provider}: {{ {} }}", written((OwnerKind::KeyProvider, &name), rounds))
        });
        let there = format!("provider_limits: {{ {} }}", there.join(", "));
        let _ = writeln!(text, "  {key}: {{ value: '{hash}', team: {team}, {limits}, {there} }}");
    }
    text.push_str(
        "settings:\n  timeouts: { first_token_ms: 1000, idle_ms: 500, total_ms: 20000 }\n  retries: { max: 1, backoff_ms: \
         5 }\n",
    );
    text
}

/// The limits of an owner as they are written.
fn written(owner: (OwnerKind, &str), rounds: u64) -> String {
    let (mut limits, mut budgets) = (Vec::new(), Vec::new());
    for bound in BOUNDS.iter().filter(|bound| bound.owner == owner) {
        let per = bound.name.split_once('/').unwrap().1;
        let amount = bound.amount * (rounds + 1);
        let mode = if bound.strict { "strict" } else { "soft" };
        match bound.measure {
            Measure::NanoUsd => {
                let usd = format!("{}.{:09}", amount / 1_000_000_000, amount % 1_000_000_000);
                // One that is short makes answers shorter.
                let on_short = if owner.1 == "k2" { "clamp" } else { "refuse" };
                budgets.push(format!("{{ usd: '{usd}', per: {per}, mode: {mode}, on_short: {on_short} }}"));
            }
            Measure::Requests => limits.push(format!("{{ requests: {amount}, per: {per}, mode: {mode} }}")),
            Measure::Tokens => limits.push(format!("{{ tokens: {amount}, per: {per}, mode: {mode} }}")),
        }
    }
    if owner.1 == "one" {
        limits.push("{ concurrent: 3 }, { requests: 100, per: 1s }".to_owned());
    }
    format!("limits: [{}], budgets: [{}]", limits.join(", "), budgets.join(", "))
}

/// What limits have counted, by their file and as the node told while it ran, is the sum of what lines say, and never more
/// than is allowed.
pub(crate) fn check(lines: &[Line], (counters, told): (&Path, &Value), rounds: u64) {
    let counted = counted(counters);
    let mut reached = 0;
    for bound in &BOUNDS {
        let (kind, name) = bound.owner;
        let id = Owner { kind, name: name.into() }.limit_id(bound.name);
        let by_window: Vec<u64> =
            counted.iter().filter(|((limit, _), _)| *limit == id).map(|(_, amount)| *amount).collect();
        let of = lines.iter().filter(|line| match kind {
            OwnerKind::Customer => &*line.owner.customer == name,
            OwnerKind::Team => &*line.owner.team == name,
            OwnerKind::Provider => &*line.provider == name,
            OwnerKind::KeyProvider => name.split_once('@') == Some((&line.owner.key, &line.provider)),
            _ => &*line.owner.key == name,
        });
        let sum: u64 = match bound.measure {
            Measure::NanoUsd => of.map(|line| line.nano_usd).sum(),
            Measure::Tokens => of.map(|line| tokens(&line.tokens)).sum(),
            Measure::Requests => {
                let mut requests: Vec<_> = of.map(|line| &line.request_id).collect();
                requests.sort_unstable();
                requests.dedup();
                requests.len() as u64
            }
        };
        let (total, most) = (by_window.iter().sum::<u64>(), bound.amount * (rounds + 1));
        println!("{kind:?} {name} {}: {total} counted, {sum} in lines, {most} allowed", bound.name);
        assert_eq!(total, sum, "{kind:?} {name} {}", bound.name);
        // Parts of a window that rolls count together.
        let is_rolling = bound.name.ends_with("1d");
        let one = if is_rolling { total } else { by_window.iter().copied().max().unwrap_or(0) };
        assert_eq!(used(told, bound), (one, 0), "{kind:?} {name} {}", bound.name);
        assert!(!bound.strict || one <= most, "{kind:?} {name} {}: {one} of {most}", bound.name);
        reached += usize::from(one * 20 > most * 19);
    }
    assert!(reached >= 3, "only {reached} limits were nearly reached");
}

/// What the node says is used of a limit, and held.
fn used(told: &Value, bound: &Bound) -> (u64, u64) {
    let (kind, name) = bound.owner;
    let kind = match kind {
        OwnerKind::Customer => "customer",
        OwnerKind::Team => "team",
        OwnerKind::Provider => "provider",
        OwnerKind::KeyProvider => "key_provider",
        _ => "key",
    };
    let is = |limit: &&Value| {
        (&limit["owner_kind"], &limit["owner"], &limit["name"])
            == (&json!(kind), &json!(name), &json!(bound.name))
    };
    let limit = told["items"].as_array().unwrap().iter().find(is).unwrap();
    // Money is decimal text.
    let figure = |figure: &Value| match figure.as_str() {
        Some(usd) => {
            let (whole, nano) = usd.split_once('.').unwrap();
            whole.parse::<u64>().unwrap() * 1_000_000_000 + format!("{nano:0<9}").parse::<u64>().unwrap()
        }
        None => figure.as_u64().unwrap(),
    };
    (figure(&limit["used"]), figure(&limit["held"]))
}

fn tokens(of: &Tokens) -> u64 {
    of.input + of.cached_read + of.cache_write_5m + of.cache_write_1h + of.output + of.reasoning
}

/// The file beside the ledger: a line, then sums.
fn counted(path: &Path) -> HashMap<(LimitId, WindowId), u64> {
    let bytes = fs::read(path).unwrap();
    let begin = bytes.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    let (sums, rest) = bytes[begin..].as_chunks::<{ Settlement::BYTES }>();
    assert!(rest.is_empty());
    let sums = sums.iter().map(|sum| Settlement::from_bytes(sum).unwrap());
    let mut all = HashMap::new();
    for Settlement { counter, window_id, amount } in sums {
        assert!(all.insert((counter.limit, window_id), amount).is_none(), "a sum is there twice");
    }
    all
}
