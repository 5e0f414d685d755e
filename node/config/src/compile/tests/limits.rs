//! Limits, budgets and whom they bind: what is made of them, and what is refused.

use super::*;
use crate::{AtLimit, Limit, Measure, Mode, OnPartition, OnShort, OwnerKind};
use trestle_counters::{Calendar, Month, Weekday, Window, WindowId};

const ORGANISATION: &str = "
customers: { acme: { budgets: [{ usd: 5000, per: month }], tags: [paying, eu] } }
teams:
  growth: { customer: acme, budgets: [{ usd: 500, per: month }], limits: [{ concurrent: 20 }], tags: [eu, web] }
  lone: {}
users:
  ada: { team: growth, limits: [{ tokens: 100000, per: 1d }], tags: [staff] }
  bob: {}
";

/// The caller of the key that is in the variable `KEY`.
fn caller(snapshot: &Snapshot) -> &Caller {
    snapshot.callers.get(&crate::hash_key("sk-fromenv")).unwrap()
}

fn names(limits: &[Arc<Limit>]) -> Vec<String> {
    limits.iter().map(|limit| format!("{:?} {} {}", limit.owner.kind, limit.owner.name, limit.name)).collect()
}

fn limit(text: &str) -> Arc<Limit> {
    let made = compiled(&format!("keys: {{ a: {{ value: env:KEY, {text} }} }}"));
    let caller = caller(&made.snapshot);
    assert_eq!(caller.limits.len(), 1, "{text}");
    Arc::clone(&caller.limits[0])
}

#[test]
fn callers_have_the_limits_of_all_they_belong_to_in_the_order_of_charging() {
    let of = |key: &str| {
        let made = compiled(&format!("{ORGANISATION}keys: {{ a: {{ value: env:KEY, {key} }} }}"));
        let caller = caller(&made.snapshot);
        let names = |name: &Option<Arc<str>>| name.as_deref().unwrap_or("-").to_owned();
        let owners = [&caller.customer, &caller.team, &caller.user].map(names).join(" ");
        (owners, self::names(&caller.limits), caller.tags.join(" "))
    };
    let (customer, team) = ("Customer acme usd/month", ["Team growth concurrent", "Team growth usd/month"]);
    let user = "User ada tokens/1d";
    for (key, owners, limits, tags) in [
        ("tags: [x]", "- - -", vec![], "x"),
        ("team: growth", "acme growth -", vec![customer, team[0], team[1]], "eu web paying"),
        (
            "user: ada, tags: [own, web], budgets: [{ usd: 1, per: day }], limits: [{ requests: 1, per: 1s }]",
            "acme growth ada",
            vec![customer, team[0], team[1], user, "Key a requests/1s", "Key a usd/day"],
            "own web staff eu paying",
        ),
        ("customer: acme", "acme - -", vec![customer], "paying eu"),
        ("customer: acme, user: bob", "acme - bob", vec![customer], "paying eu"),
        (
            "customer: acme, user: ada",
            "acme growth ada",
            vec![customer, team[0], team[1], user],
            "staff eu web paying",
        ),
        (
            "team: growth, user: ada",
            "acme growth ada",
            vec![customer, team[0], team[1], user],
            "staff eu web paying",
        ),
        ("team: lone, user: bob", "- lone bob", vec![], ""),
    ] {
        let expected = limits.into_iter().map(str::to_owned).collect();
        assert_eq!(of(key), (owners.to_owned(), expected, tags.to_owned()), "{key}");
    }
}

#[test]
fn a_limit_is_what_is_written_and_what_holds_otherwise() {
    let plain = limit("limits: [{ requests: 600, per: 1m }]");
    assert_eq!((plain.measure, plain.amount, &*plain.name), (Measure::Requests, 600, "requests/1m"));
    assert_eq!(
        (plain.mode, plain.on_short, plain.on_partition, &plain.at_limit),
        (Mode::Soft, OnShort::Refuse, OnPartition::Share, &AtLimit::Refuse)
    );
    assert_eq!((plain.window, &*plain.warn_at), (Window::rolling(60_000, 12).unwrap(), &[][..]));
    assert_eq!((plain.owner.kind, &*plain.owner.name), (OwnerKind::Key, "a"));
    let budget = limit(
        "budgets: [{ name: cap, usd: \"0.000000001\", per: year, year_starts: 4, mode: soft, on_short: clamp, \
         on_partition: optimistic, at_limit: { downgrade: mock/echo }, warn_at: [95, 80, 95] }]",
    );
    assert_eq!((budget.measure, budget.amount, &*budget.name), (Measure::NanoUsd, 1, "cap"));
    assert_eq!((budget.mode, budget.on_short), (Mode::Soft, OnShort::Clamp));
    assert_eq!(budget.on_partition, OnPartition::Optimistic);
    let spread = limit("limits: [{ tokens: 1, per: 1m, on_partition: optimistic }]");
    assert_eq!(spread.on_partition, OnPartition::Optimistic);
    assert_eq!(
        limit("limits: [{ tokens: 1, per: 1m, on_partition: share }]"),
        limit("limits: [{ tokens: 1, per: 1m }]")
    );
    assert_eq!(budget.at_limit, AtLimit::Downgrade("mock/echo".into()));
    assert_eq!(budget.window, Window::Calendar(Calendar::Year(Month::April)));
    assert_eq!(&*budget.warn_at, [80, 95]);
    assert_eq!(limit("budgets: [{ usd: 12.5, per: month }]").mode, Mode::Strict);
    let week = limit("limits: [{ output_tokens: 0, per: week, week_starts: sunday }]");
    assert_eq!((week.amount, week.measure), (0, Measure::OutputTokens));
    assert_eq!(week.window, Window::Calendar(Calendar::Week(Weekday::Sunday)));
    assert_eq!(limit("limits: [{ concurrent: 5 }]").window, Window::Standing);
}

#[test]
fn usage_is_kept_through_edits_of_a_limit() {
    let id = |text: &str| limit(&format!("limits: [{{ {text} }}]")).id;
    let first = id("requests: 600, per: 1m");
    for same in [
        "requests: 5, per: 1m",
        "requests: 600, per: 60s",
        "requests: 600, per: 1m, mode: strict, warn_at: [50]",
        "name: requests/1m, requests: 600, per: 1h",
    ] {
        assert_eq!(id(same), first, "{same}");
    }
    for other in ["requests: 600, per: minute", "tokens: 600, per: 1m", "name: x, requests: 600, per: 1m"] {
        assert_ne!(id(other), first, "{other}");
    }
}

#[test]
fn overrides_hold_for_their_windows() {
    let day = |text: &str| {
        let since = humantime::parse_rfc3339(text).unwrap().duration_since(std::time::UNIX_EPOCH).unwrap();
        u64::try_from(since.as_millis()).unwrap()
    };
    let limit = limit(
        "budgets: [{ usd: 1, per: month, overrides: [{ usd: 5, from: 2027-02-28T23:59:59Z, windows: 2 }, \
         { usd: 0, from: 2027-04-01T00:00:00Z, windows: 1 }] }]",
    );
    for (at, usd) in [
        ("2027-01-31T23:59:59Z", 1),
        ("2027-02-01T00:00:00Z", 5),
        ("2027-03-31T23:59:59Z", 5),
        ("2027-04-01T00:00:00Z", 0),
        ("2027-05-01T00:00:00Z", 1),
    ] {
        assert_eq!(limit.amount_at(limit.window.id_at(day(at))), usd * 1_000_000_000, "{at}");
    }
    // A window that rolls has an id for each of its parts.
    let limit = self::limit(
        "limits: [{ requests: 1, per: 1m, overrides: [{ amount: 9, from: 2027-01-01T00:00:07Z, windows: 3 }] }]",
    );
    let first = limit.window.id_at(day("2027-01-01T00:00:05Z")).0;
    let amounts = [first - 1, first, first + 35, first + 36].map(|id| limit.amount_at(WindowId(id)));
    assert_eq!(amounts, [1, 9, 9, 1]);
}

#[test]
fn models_and_providers_have_limits_too() {
    let made = compiled(
        "providers: { vllm: { base_url: \"http://vllm/v1\", limits: [{ concurrent: 4 }] }, mock: { budgets: [{ usd: 1, per: day }] } }\n\
         models: { m: { targets: [{ model: mock/a }], limits: [{ tokens: 9, per: 1h }] }, s-*: { targets: [{ model: mock/* }], limits: [{ requests: 1, per: day }] } }\n\
         keys: { a: { value: env:KEY, provider_limits: { mock: { limits: [{ requests: 1, per: 1m }], budgets: [{ usd: 1, per: day }] } } } }",
    );
    let snapshot = &made.snapshot;
    assert_eq!(names(&snapshot.providers["vllm"].limits), ["Provider vllm concurrent"]);
    assert_eq!(names(&snapshot.providers["mock"].limits), ["Provider mock usd/day"]);
    let limits = |name: &str| match snapshot.resolve(name) {
        Some(crate::ResolvedTarget::Group(group)) => names(&group.limits),
        _ => Vec::new(),
    };
    assert_eq!(limits("m"), ["Model m tokens/1h"]);
    assert_eq!(limits("s-x"), ["Model s-* requests/day"]);
    let caller = caller(snapshot);
    assert_eq!(
        names(caller.limits_at("mock")),
        ["KeyProvider a@mock requests/1m", "KeyProvider a@mock usd/day"]
    );
    assert!(caller.limits_at("vllm").is_empty() && caller.limits.is_empty());
}

#[test]
fn access_is_compiled() {
    let made = compiled(
        "keys: { a: { value: env:KEY, providers: [mock], ip_allow: [10.0.0.0/8, \"2001:db8::1\"], \
         required_headers: { X-App: \"*\", x-stage: live } } }",
    );
    let caller = caller(&made.snapshot);
    assert!(caller.allows_provider("mock") && !caller.allows_provider("openai"));
    for (address, allowed) in [("10.1.2.3", true), ("2001:db8::1", true), ("2001:db8::2", false)] {
        assert_eq!(caller.allows_address(address.parse().unwrap()), allowed, "{address}");
    }
    let lacks = caller.lacks_header(&|_| None).map(|name| name.as_str());
    assert_eq!(lacks, Some("x-app"));
    // The key of before a rotation is bound as the new one is.
    let made = compiled(
        "teams: { t: { limits: [{ concurrent: 1 }] } }\nkeys: { a: { value: env:KEY, team: t, ip_allow: [10.0.0.1], \
         previous: { value: env:BATCH_KEY, expires_at: 2027-01-01T00:00:00Z } } }",
    );
    let former = made.snapshot.callers.get(&crate::hash_key("batch-secret")).unwrap();
    assert!(!former.allows_address("10.0.0.2".parse().unwrap()));
    assert_eq!(names(&former.limits), ["Team t concurrent"]);
}

#[test]
fn tags_beyond_those_that_are_written_are_warned_of() {
    let many: Vec<_> = (0..20).map(|i| format!("t{i}")).collect();
    let long = "x".repeat(65);
    warns(
        &format!(
            "teams: {{ t: {{ tags: [team] }} }}\nkeys: {{ a: {{ value: env:KEY, team: t, tags: [{}, {long}] }} }}",
            many.join(", ")
        ),
        &[
            "keys.a.tags: 6 of them, with those of its user, team and customer, are not written with its calls: that is \
           done with 16, each of at most 64 characters",
        ],
    );
}

/// A key with these members is refused with this, below the key's path.
fn refused(members: &str, expected: &[&str]) {
    let expected: Vec<_> = expected.iter().map(|line| format!("keys.a{line}")).collect();
    let expected: Vec<_> = expected.iter().map(String::as_str).collect();
    check(&format!("{ORGANISATION}keys: {{ a: {{ value: env:KEY, {members} }} }}"), &expected);
}

#[test]
fn owners_must_be_there_and_agree() {
    refused("team: grwth", &[".team: `grwth` is not in `teams`; did you mean `growth`?"]);
    refused("user: nobody", &[".user: `nobody` is not in `users`"]);
    refused("customer: ACME", &[".customer: `ACME` is not in `customers`; did you mean `acme`?"]);
    refused(
        "team: growth, customer: acme",
        &[".customer: cannot be beside `team`, for the customer is that of the team; remove one of them"],
    );
    refused("team: lone, user: ada", &[".team: is `lone`, and its user is of the team `growth`; remove it"]);
    check(
        "customers: { a: {}, b: {} }\nteams: { t: { customer: b } }\nusers: { u: { team: t } }\nkeys: { k: { value: env:KEY, customer: a, user: u } }",
        &["keys.k.customer: is `a`, and the team of its user is of `b`; remove it"],
    );
    check(
        "customers: { \" a\": {} }\nteams: { t: { customer: nobody, tags: [\"\"] } }\nusers: { u: { team: x } }",
        &[
            "customers[\" a\"]: must have a name of 1 to 128 bytes, without control characters, or white space around it",
            "teams.t.tags[0]: must have 1 to 64 characters, without control characters, or white space around it",
            "teams.t.customer: `nobody` is not in `customers`",
            "users.u.team: `x` is not in `teams`",
        ],
    );
}

#[test]
fn limits_that_say_too_little_or_too_much_are_refused() {
    let one = "needs exactly one of `requests`, `tokens`, `input_tokens`, `output_tokens`, `concurrent`; write a limit for each";
    for wrong in ["per: 1m", "requests: 1, tokens: 1, per: 1m"] {
        refused(&format!("limits: [{{ {wrong} }}]"), &[&format!(".limits[0]: {one}")]);
    }
    for (limit, expected) in [
        ("requests: 1", ".per: is missing; write a length such as `1m`, or one such as `month`"),
        (
            "requests: 1, week_starts: sunday, per: month",
            ".week_starts: has no use, for `per` is not `week`; remove it",
        ),
        ("concurrent: 1, per: 1m", ".per: has no use, for calls that run at once have no time; remove it"),
        ("concurrent: 1, year_starts: 2", ".year_starts: has no use, for `per` is not `year`; remove it"),
        (
            "requests: 1, per: 1q",
            ".per: is no time; write a length such as `30s`, `1m`, `1h` or `7d`, or one of `second`, `minute`, `hour`, `day`, `week`, `month`, `year`",
        ),
        (
            "requests: 1, per: mont",
            ".per: is no time; write a length such as `30s`, `1m`, `1h` or `7d`, or one of `second`, `minute`, `hour`, `day`, `week`, `month`, `year`; did you mean `month`?",
        ),
        (
            "requests: 1000000000000000001, per: 1m",
            ".requests: is more than 1000000000000000000, the most there is",
        ),
        (
            "requests: 1, per: 1m, on_short: clamp",
            ".on_short: cannot be `clamp`: a shorter answer uses no less of this; remove it",
        ),
        (
            "requests: 1, per: 1m, mode: strict, on_partition: optimistic",
            ".on_partition: cannot be `optimistic` where `mode` is `strict`, which is never passed; remove one of them",
        ),
        (
            "requests: 1, per: 1m, name: \"\"",
            ".name: must have a name of 1 to 128 bytes, without control characters, or white space around it",
        ),
        (
            "requests: 1, per: 1m, overrides: [{ amount: 1, from: tomorrow, windows: 1 }]",
            ".overrides[0].from: is not a time in UTC; write it as `2027-01-31T00:00:00Z`",
        ),
        (
            "requests: 1, per: 1m, overrides: [{ amount: 1, from: 2027-01-31T00:00:00Z, windows: 0 }]",
            ".overrides[0].windows: is 0; must be from 1 to 100000",
        ),
        (
            "requests: 1, per: day, overrides: [{ amount: 1, from: 2027-01-31T00:00:00Z, windows: 2 }, { amount: 2, from: 2027-02-01T10:00:00Z, windows: 1 }]",
            ".overrides[1]: has windows of another one; let each begin where the one before ends",
        ),
        (
            "concurrent: 1, overrides: [{ amount: 1, from: 2027-01-31T00:00:00Z, windows: 2 }]",
            ".overrides: have no use, for calls that run at once have no windows; remove them",
        ),
    ] {
        refused(&format!("limits: [{{ {limit} }}]"), &[&format!(".limits[0]{expected}")]);
    }
    for (usd, expected) in [
        ("-1", "must not be negative"),
        ("\"1,5\"", "is no amount of US dollars; write it as `12.50`"),
        ("0.0000000001", "has more than nine decimals"),
        ("1e12", "is more than 1,000,000,000, the most there is"),
        ("1234567.123456789", "has more digits than a number holds exactly; write it in quotes"),
    ] {
        refused(
            &format!("budgets: [{{ usd: {usd}, per: day }}]"),
            &[&format!(".budgets[0].usd: {expected}")],
        );
    }
}

#[test]
fn an_owner_has_no_more_than_so_many() {
    let many = (0..17).map(|i| format!("{{ name: n{i}, requests: 1, per: {}s }}", i + 1)).collect::<Vec<_>>();
    refused(
        &format!("limits: [{}]", many.join(", ")),
        &[": has more than 16 limits and budgets; remove some"],
    );
}

/// What the form alone refuses: numbers that are negative, none, or out of range.
#[test]
fn wrong_numbers_are_refused_in_form() {
    for (limit, expected) in [
        ("requests: -1, per: 1m", "limits[0].requests: must be a whole number, at least 0"),
        ("requests: 1.5, per: 1m", "limits[0].requests: must be a whole number"),
        ("requests: 1, per: 1m, warn_at: [0]", "limits[0].warn_at[0]: must be a whole number from 1 to 100"),
        (
            "requests: 1, per: 1m, warn_at: [300]",
            "limits[0].warn_at[0]: must be a whole number from 1 to 100",
        ),
        (
            "requests: 1, per: year, year_starts: 13",
            "limits[0].year_starts: must be a whole number from 1 to 12",
        ),
        ("requests: 1, per: 5", "limits[0].per: must be text, not a number; put it in quotes"),
        (
            "usd: 1, per: 1m",
            "limits[0].usd: unknown member `usd`; known: `at_limit`, `concurrent`, `input_tokens`, `mode`, `name`, `on_partition`, `on_short`, `output_tokens`, `overrides`, `per`, `requests`, `tokens`, `warn_at`, `week_starts`, `year_starts`",
        ),
        ("requests: 1, per: 1m, mode: hard", "limits[0].mode: must be one of `strict`, `soft`"),
        (
            "requests: 1, per: 1m, on_partition: half",
            "limits[0].on_partition: must be one of `share`, `optimistic`",
        ),
        (
            "requests: 1, per: 1m, at_limit: downgrade",
            "limits[0].at_limit: must be one of `refuse`, or a map with `downgrade`",
        ),
    ] {
        let problems =
            parse(&format!("keys: {{ a: {{ value: env:KEY, limits: [{{ {limit} }}] }} }}")).unwrap_err();
        assert_eq!(lines(&problems.0), [format!("keys.a.{expected}")], "{limit}");
    }
    for (usd, expected) in [
        (".nan", "line 1, column 57: is not YAML: value `.nan` is not a finite number"),
        (".inf", "line 1, column 57: is not YAML: value `.inf` is not a finite number"),
        ("1e999", "line 1, column 57: is not YAML: value `1e999` is not a finite number"),
        ("true", "keys.a.budgets[0].usd: must be a number or text, not `true` or `false`"),
    ] {
        let text = format!("keys: {{ a: {{ value: env:KEY, budgets: [{{ per: day, usd: {usd} }}] }} }}");
        assert_eq!(lines(&parse(&text).unwrap_err().0), [expected], "{usd}");
    }
    let price = parse("catalog: { openai/x: { price: { input: -1 } } }");
    assert!(price.is_err() || compile(&price.unwrap(), 1, &Fixed).is_err());
}

#[test]
fn limits_that_contradict_one_another_are_refused() {
    let two = |first: &str, second: &str, expected: &[&str]| {
        refused(&format!("limits: [{{ {first} }}, {{ {second} }}]"), expected);
    };
    two(
        "requests: 1, per: 60s, name: x",
        "requests: 2, per: 1m",
        &[".limits[1]: counts the same over the same time as `limits[0]`; keep the smaller one"],
    );
    two(
        "requests: 1, per: week",
        "requests: 2, per: week, week_starts: sunday",
        &[".limits[1]: is called `requests/week` as `limits[0]` is; give one of them another `name`"],
    );
    let never = "allows less in a longer time; lower this one, raise that one, or remove one";
    two(
        "requests: 100, per: 1h",
        "requests: 600, per: 1m",
        &[&format!(".limits[1]: is never reached, for `limits[0]` {never}")],
    );
    two(
        "tokens: 600, per: 27d",
        "tokens: 100, per: month",
        &[&format!(".limits[0]: is never reached, for `limits[1]` {never}")],
    );
    refused(
        "budgets: [{ usd: 10, per: day }, { usd: 9.99, per: month }]",
        &[&format!(".budgets[0]: is never reached, for `budgets[1]` {never}")],
    );
    // What only looks like it: other measures, as much, a month that may be shorter, a calendar beside a length.
    compiled(
        "keys: { a: { value: env:KEY, limits: [{ requests: 600, per: 1m }, { tokens: 100, per: 1h }, { requests: 600, per: 1h }, \
         { input_tokens: 9, per: 29d }, { input_tokens: 5, per: month }, { output_tokens: 9, per: 1m }, { output_tokens: 5, per: minute }] } }",
    );
}

#[test]
fn downgrades_must_lead_somewhere_and_not_in_a_circle() {
    let group = |name: &str, to: &str| {
        format!(
            "{name}: {{ targets: [{{ model: mock/a }}], budgets: [{{ usd: 1, per: day, at_limit: {{ downgrade: {to} }} }}] }}"
        )
    };
    let models = |groups: &[String]| format!("models: {{ {} }}", groups.join(", "));
    compiled(&models(&[group("a", "b"), group("b", "c"), group("c", "mock/x"), group("s-*", "a")]));
    check(
        &models(&[group("a", "bb"), group("b", "nobody/x"), group("s-*", "\"s-*\"")]),
        &[
            "models.a.budgets[0].at_limit.downgrade: `bb` is neither a name in `models` nor `provider/model`; did you mean `b`?",
            "models.b.budgets[0].at_limit.downgrade: `nobody/x` is neither a name in `models` nor `provider/model`",
            "models[\"s-*\"].budgets[0].at_limit.downgrade: `s-*` is neither a name in `models` nor `provider/model`",
        ],
    );
    check(
        &models(&[
            group("z", "b"),
            group("b", "c"),
            group("c", "b"),
            group("own", "own"),
            group("s-*", "s-x"),
        ]),
        &[
            "models.b: downgrades in a circle: `b` -> `c` -> `b`; remove one of them",
            "models.own: downgrades in a circle: `own` -> `own`; remove one of them",
            "models[\"s-*\"]: downgrades in a circle: `s-*` -> `s-*`; remove one of them",
        ],
    );
    let row: Vec<_> = (10..27).map(|i| group(&format!("m{i}"), &format!("m{}", i + 1))).collect();
    check(
        &models(&[&row[..], &[group("m27", "mock/x")]].concat()),
        &[
            "models.m10: downgrades over more than 16 names in a row; name a target instead",
            "models.m11: downgrades over more than 16 names in a row; name a target instead",
        ],
    );
    check(
        "providers: { mock: { limits: [{ requests: 1, per: 1m, at_limit: { downgrade: mock/a } }] } }",
        &[
            "providers.mock.limits[0].at_limit.downgrade: is at the same provider, where nothing is left then; name another one",
        ],
    );
    refused(
        "limits: [{ concurrent: 1, at_limit: { downgrade: cheap } }]",
        &[".limits[0].at_limit.downgrade: `cheap` is neither a name in `models` nor `provider/model`"],
    );
}

#[test]
fn wrong_access_is_refused() {
    refused(
        "ip_allow: [10.1.0.0/8, example.com, \"::ffff:10.0.0.1\"], required_headers: { \"a b\": x, x-a: \"\", X-B: \"1\", x-b: \"2\" }",
        &[
            ".ip_allow[0]: has bits set behind those in common; write the first address of the network",
            ".ip_allow[1]: is no address and no network; write `10.1.2.3`, `10.0.0.0/8` or `2001:db8::/32`",
            ".ip_allow[2]: is an IPv4 address written as one of IPv6; write it as IPv4",
            ".required_headers[\"a b\"]: is no name of a header",
            ".required_headers.x-a: must be text without white space around it, or `*` for any value",
            ".required_headers.x-b: is there twice, for case does not count; remove one",
        ],
    );
    refused(
        "provider_limits: { mok: {}, mock: { limits: [{ requests: 1 }] } }",
        &[
            ".provider_limits.mock.limits[0].per: is missing; write a length such as `1m`, or one such as `month`",
            ".provider_limits.mok: `mok` is not in `providers`, so these limits would never hold; did you mean `mock`?",
        ],
    );
    warns(
        "keys: { a: { value: env:KEY, providers: [mok] } }",
        &["keys.a.providers[0]: `mok` is not in `providers`; did you mean `mock`?"],
    );
}
