//! Changes of customers, teams and users, and of what limits name.

use super::*;
use crate::{AtLimit, Difference, Entity, hash_key};

fn set(text: &str) -> Vec<Difference> {
    crate::differences(&[], &crate::split(&parse(text).unwrap()).unwrap())
}

fn removed(kind: Kind, id: &str) -> Vec<Difference> {
    vec![Difference::Removed(kind, id.to_owned())]
}

/// Amounts of the limits of a caller, and its team.
fn shown(made: &Compilation, key: &str) -> String {
    let caller = made.snapshot().callers.get(&hash_key(key)).unwrap();
    let amounts: Vec<_> = caller.limits.iter().map(|limit| limit.amount.to_string()).collect();
    format!("{} {}", caller.team.as_deref().unwrap_or("-"), amounts.join(" "))
}

const TEXT: &str = "
customers: { c: { limits: [{ concurrent: 1 }] } }
teams: { t: { customer: c, limits: [{ concurrent: 2 }] }, other: {} }
users: { u: { team: t } }
keys:
  a: { value: env:KEY, user: u, limits: [{ concurrent: 3 }], previous: { value: env:NOWHERE, expires_at: 2027-01-01T00:00:00Z } }
  b: { value: env:BATCH_KEY, team: other }
  lost: { value: env:NOWHERE, team: t }
";

fn made() -> Compilation {
    let mut made = Compilation::new(&Fixed);
    made.change(1, &set(TEXT), &Fixed).unwrap();
    made
}

#[test]
fn a_change_of_a_team_reaches_its_callers_alone() {
    let made = made();
    let mut next = made.clone();
    next.change(2, &set("teams: { t: { customer: c, limits: [{ concurrent: 20 }] } }"), &Fixed).unwrap();
    assert_eq!(
        (shown(&made, "sk-fromenv"), shown(&next, "sk-fromenv")),
        ("t 1 2 3".into(), "t 1 20 3".into())
    );
    let (one, two) = (made.snapshot(), next.snapshot());
    assert!(Arc::ptr_eq(&one.providers, &two.providers) && Arc::ptr_eq(&one.groups, &two.groups));
    assert!(Arc::ptr_eq(one.callers.named("b").unwrap(), two.callers.named("b").unwrap()));
    assert!(!Arc::ptr_eq(one.callers.named("a").unwrap(), two.callers.named("a").unwrap()));
    assert!(Arc::ptr_eq(two.callers.named("a").unwrap(), two.callers.get(&hash_key("sk-fromenv")).unwrap()));
    // Through the team a change of the customer does too, and a user that gets another team.
    next.change(3, &set("customers: { c: { limits: [{ concurrent: 10 }] } }"), &Fixed).unwrap();
    assert_eq!(shown(&next, "sk-fromenv"), "t 10 20 3");
    next.change(4, &set("users: { u: { team: other } }"), &Fixed).unwrap();
    assert_eq!(shown(&next, "sk-fromenv"), "other 3");
    next.change(5, &set("users: { u: {} }"), &Fixed).unwrap();
    assert_eq!(shown(&next, "sk-fromenv"), "- 3");
    next.change(6, &set("users: { u: { team: t } }"), &Fixed).unwrap();
    assert_eq!(shown(&next, "sk-fromenv"), "t 10 20 3");
}

#[test]
fn a_former_key_changes_with_its_caller() {
    let mut made = Compilation::new(&Fixed);
    let text = "teams: { t: { limits: [{ concurrent: 1 }] } }\nkeys: { a: { value: env:KEY, team: t, \
                previous: { value: env:BATCH_KEY, expires_at: 2027-01-01T00:00:00Z } } }";
    made.change(1, &set(text), &Fixed).unwrap();
    made.change(2, &set("teams: { t: { limits: [{ concurrent: 2 }] } }"), &Fixed).unwrap();
    assert_eq!((shown(&made, "sk-fromenv"), shown(&made, "batch-secret")), ("t 2".into(), "t 2".into()));
    let caller = made.snapshot().callers.get(&hash_key("batch-secret")).unwrap();
    assert!(caller.expires_at.is_some());
    // It may be another's by now, whose limits these are not.
    made.change(3, &set("keys: { b: { value: env:BATCH_KEY } }"), &Fixed).unwrap();
    made.change(4, &set("teams: { t: { limits: [{ concurrent: 3 }] } }"), &Fixed).unwrap();
    assert_eq!((shown(&made, "sk-fromenv"), shown(&made, "batch-secret")), ("t 3".into(), "- ".into()));
}

#[test]
fn what_a_key_belongs_to_cannot_be_removed() {
    let check = |changes: &[Difference], expected: &[&str]| {
        let problems = made().change(2, changes, &Fixed).unwrap_err();
        assert_eq!(lines(&problems.0), expected, "{changes:?}");
    };
    check(&removed(Kind::Team, "other"), &["keys.b.team: `other` is not in `teams`"]);
    check(&removed(Kind::User, "u"), &["keys.a.user: `u` is not in `users`"]);
    check(&removed(Kind::Customer, "c"), &["teams.t.customer: `c` is not in `customers`"]);
    // Nor what a key names that could not be had: at the next start it is compiled again.
    check(
        &removed(Kind::Team, "t"),
        &["users.u.team: `t` is not in `teams`", "keys.lost.team: `t` is not in `teams`"],
    );
    check(&set("teams: { t: { customer: nobody } }"), &["teams.t.customer: `nobody` is not in `customers`"]);
    // Together with those that name it it can.
    let mut made = made();
    let all = [removed(Kind::Team, "other"), removed(Kind::Key, "b")].concat();
    made.change(2, &all, &Fixed).unwrap();
    let moved =
        [removed(Kind::Team, "t"), set("users: { u: {} }\nkeys: { lost: { value: env:NOWHERE } }")].concat();
    made.change(3, &moved, &Fixed).unwrap();
    assert_eq!(shown(&made, "sk-fromenv"), "- 3");
}

#[test]
fn members_that_no_longer_agree_are_told_at_the_key() {
    let mut made = Compilation::new(&Fixed);
    let text = "teams: { s: {}, t: {} }\nusers: { u: { team: t } }\nkeys: { a: { value: env:KEY, user: u, team: t } }";
    made.change(1, &set(text), &Fixed).unwrap();
    let problems = made.clone().change(2, &set("users: { u: { team: s } }"), &Fixed).unwrap_err();
    assert_eq!(lines(&problems.0), ["keys.a.team: is `t`, and its user is of the team `s`; remove it"]);
}

#[test]
fn what_limits_of_keys_name_cannot_be_removed() {
    let text = "
providers: { vllm: { base_url: \"http://vllm/v1\" } }
models: { cheap: { targets: [{ model: mock/a }] } }
teams: { t: { limits: [{ concurrent: 1, at_limit: { downgrade: cheap } }] } }
keys:
  a: { value: env:KEY, team: t, budgets: [{ usd: 1, per: day, at_limit: { downgrade: cheap } }] }
  lost: { value: env:NOWHERE, provider_limits: { vllm: { limits: [{ concurrent: 1 }] } } }
";
    let mut made = Compilation::new(&Fixed);
    made.change(1, &set(text), &Fixed).unwrap();
    let caller = made.snapshot().callers.named("a").unwrap();
    assert_eq!(caller.limits[1].at_limit, AtLimit::Downgrade("cheap".into()));
    let problems = made.clone().change(2, &removed(Kind::Model, "cheap"), &Fixed).unwrap_err();
    assert_eq!(
        lines(&problems.0),
        [
            "keys.a: downgrades by its limit `usd/day`: `cheap` is neither a name in `models` nor `provider/model`",
            "teams.t: downgrades by its limit `concurrent`: `cheap` is neither a name in `models` nor `provider/model`",
        ]
    );
    let problems = made.clone().change(2, &removed(Kind::Provider, "vllm"), &Fixed).unwrap_err();
    assert_eq!(
        lines(&problems.0),
        ["keys.lost.provider_limits.vllm: `vllm` is not in `providers`, so these limits would never hold"]
    );
}

#[test]
fn a_hundred_thousand_users_and_their_keys_compile() {
    let mut document =
        parse("customers: { c: {} }\nteams: { t: { customer: c, limits: [{ concurrent: 1 }] } }").unwrap();
    for i in 0..100_000 {
        let user = crate::UserEntry { team: Some("t".to_owned()), ..Default::default() };
        document.users.insert(format!("user-{i}"), user);
        let value = crate::hash_text(&i.to_string());
        let key = crate::CallerKey { value, user: Some(format!("user-{i}")), ..Default::default() };
        document.keys.insert(format!("key-{i}"), key);
    }
    let snapshot = compile(&document, 1, &Fixed).unwrap().snapshot;
    let caller = snapshot.callers.named("key-99999").unwrap();
    assert_eq!((caller.user.as_deref(), caller.customer.as_deref()), (Some("user-99999"), Some("c")));
    assert_eq!(caller.limits.len(), 1);
}

#[test]
fn entities_of_owners_hold_only_what_was_set() {
    let entities: Vec<Entity> = crate::split(&parse(TEXT).unwrap()).unwrap();
    let find = |kind, id: &str| {
        let entity = entities.iter().find(|entity| entity.kind == kind && entity.id == id);
        entity.unwrap().value.to_string()
    };
    assert_eq!(find(Kind::Team, "t"), r#"{"customer":"c","limits":[{"concurrent":2}]}"#);
    assert_eq!(find(Kind::Team, "other"), "{}");
    assert_eq!(find(Kind::Key, "b"), r#"{"team":"other","value":"env:BATCH_KEY"}"#);
}
