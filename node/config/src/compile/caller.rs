//! A key of a client, and what it may use.

use super::{
    Secrets, access, check_name,
    limit::{self, Written},
    names::Names,
    owner::{Membership, Owners},
    secret::Source,
};
use crate::{
    Caller, CallerKey, Callers, Grants, Limits, Owner, OwnerKind, PreviousKey, hash, path::Path, pattern,
    problem::Findings, suggest::did_you_mean,
};
use std::{sync::Arc, time::SystemTime};

/// Most tags of a key, and the longest.
const TAGS_MAX: usize = 64;
const TAG_BYTES_MAX: usize = 128;

/// What a key is compiled with.
pub(super) struct Known<'a> {
    pub(super) names: Names<'a>,
    pub(super) owners: &'a Owners,
    pub(super) secrets: &'a dyn Secrets,
}

/// What a key becomes.
pub(super) struct Made {
    pub(super) caller: Caller,
    /// The key before it, and until when that is taken.
    former: Option<([u8; 32], SystemTime)>,
    /// Whether the key itself could be had.
    pub(super) found: bool,
}

pub(super) fn compile((name, key): (&str, &CallerKey), known: &Known<'_>, findings: &mut Findings) -> Made {
    let (names, secrets, root) = (&known.names, known.secrets, Path::Root);
    let root = root.member("keys");
    let path = root.member(name);
    check_name(name, &path, findings);
    let grants = grants(key, names, &path.member("models"), findings);
    check_tags(&key.tags, &path.member("tags"), findings);
    let expires_at = key.expires_at.as_ref().and_then(|at| time(at, &path.member("expires_at"), findings));
    let access = access::compile(key, names, &path, findings);
    let owner = Owner { kind: OwnerKind::Key, name: name.into() };
    let written = Written { limits: &key.limits, budgets: &key.budgets };
    let limits = limit::compile(&owner, written, names, &path, findings);
    let provider_limits = provider_limits((name, key), names, &path.member("provider_limits"), findings);
    let former =
        key.previous.as_ref().and_then(|key| former(key, secrets, &path.member("previous"), findings));
    let hash = hash_of(&key.value, secrets, &path.member("value"), findings);
    let mut caller = Caller {
        name: name.into(),
        hash: hash.unwrap_or_default(),
        previous: former.map(|(hash, _)| hash).filter(|previous| Some(*previous) != hash),
        grants,
        disabled: key.disabled,
        strict: key.strict,
        trace: key.trace,
        expires_at,
        provider_limits,
        access,
        ..Caller::default()
    };
    let own = membership(key, limits);
    known.owners.join(&mut caller, &own, &path, findings);
    let belongs = own.customer.is_some() || own.team.is_some() || own.user.is_some();
    caller.membership = belongs.then(|| Arc::new(own));
    Made { caller, former, found: hash.is_some() }
}

impl Made {
    /// Adds the caller to the others, unless another has its key.
    pub(super) fn add_to(self, callers: &mut Callers, findings: &mut Findings) {
        let caller = Arc::new(self.caller);
        if let Err(other) = callers.insert(&caller) {
            let root = Path::Root;
            let root = root.member("keys");
            let path = root.member(&caller.name);
            let message = format!("is the same key as that of `{}`; give each its own", other.name);
            findings.problem(&path.member("value"), message);
            return;
        }
        if let (Some(previous), Some((_, until))) = (caller.previous, self.former) {
            let expires_at = Some(caller.expires_at.map_or(until, |at| at.min(until)));
            callers.insert_previous(previous, Caller { expires_at, ..Caller::clone(&caller) });
        }
    }
}

fn membership(key: &CallerKey, limits: Limits) -> Membership {
    let name = |name: &Option<String>| name.as_deref().map(Box::from);
    Membership {
        customer: name(&key.customer),
        team: name(&key.team),
        user: name(&key.user),
        tags: key.tags.iter().map(|tag| tag.as_str().into()).collect(),
        limits,
    }
}

fn provider_limits(
    (name, key): (&str, &CallerKey),
    names: &Names<'_>,
    path: &Path<'_>,
    findings: &mut Findings,
) -> Arc<[(Box<str>, Limits)]> {
    let mut made = Vec::new();
    for (provider, entry) in &key.provider_limits {
        let path = path.member(provider);
        if !names.providers.contains(provider.as_str()) {
            findings.problem(&path, no_provider(provider, names));
            continue;
        }
        if provider.contains('@') {
            // The owner of such limits is `KEY@PROVIDER`, and is to be told apart from any other.
            findings.problem(&path, "has `@` in its name, so a key can have no limits at it; rename it");
        }
        let owner = Owner::key_at(name, provider);
        let written = Written { limits: &entry.limits, budgets: &entry.budgets };
        let limits = limit::compile(&owner, written, names, &path, findings);
        made.push((provider.as_str().into(), limits));
    }
    made.into()
}

/// What is wrong with limits at a provider that there is not.
pub(super) fn no_provider(provider: &str, names: &Names<'_>) -> String {
    let meant = did_you_mean(provider, names.providers.iter().copied());
    format!("`{provider}` is not in `providers`, so these limits would never hold{meant}")
}

fn former(
    key: &PreviousKey,
    secrets: &dyn Secrets,
    path: &Path<'_>,
    findings: &mut Findings,
) -> Option<([u8; 32], SystemTime)> {
    let until = time(&key.expires_at, &path.member("expires_at"), findings);
    let hash = hash_of(&key.value, secrets, &path.member("value"), findings);
    hash.zip(until)
}

fn time(text: &str, path: &Path<'_>, findings: &mut Findings) -> Option<SystemTime> {
    let time = humantime::parse_rfc3339(text).ok();
    if time.is_none() {
        findings.problem(path, "is not a time in UTC; write it as `2027-01-31T00:00:00Z`");
    }
    time
}

fn check_tags(tags: &[String], path: &Path<'_>, findings: &mut Findings) {
    if tags.len() > TAGS_MAX {
        findings.problem(path, format!("are more than {TAGS_MAX}; remove some"));
    }
    for (index, tag) in tags.iter().enumerate() {
        if tag.trim() != tag
            || tag.is_empty()
            || tag.len() > TAG_BYTES_MAX
            || tag.chars().any(char::is_control)
        {
            let message = format!(
                "must have 1 to {TAG_BYTES_MAX} bytes, without control characters, or white space around it"
            );
            findings.problem(&path.item(index), message);
        }
    }
}

/// `None` after a problem or warning.
fn hash_of(value: &str, secrets: &dyn Secrets, path: &Path<'_>, findings: &mut Findings) -> Option<[u8; 32]> {
    if let Some(hex) = value.strip_prefix(hash::PREFIX) {
        let hash = hash::parse_hex(hex);
        if hash.is_none() {
            let message =
                "must be `sha256:` and 64 hexadecimal digits, made with `printf %s KEY | sha256sum`";
            findings.problem(path, message);
        }
        return hash;
    }
    match Source::of(value) {
        Ok(source) if source.is_literal() => {
            let message = "is a key in clear; write `sha256:HEX`, made with `printf %s KEY | sha256sum`, or `env:NAME` \
                           or `file:PATH` of the key";
            findings.problem(path, message);
            None
        }
        Ok(source) => match source.read(secrets) {
            Ok(secret) => Some(hash::hash_key(&secret)),
            Err(why) => {
                findings.warning(path, format!("{why}; this key is left out"));
                None
            }
        },
        Err(why) => {
            findings.problem(path, why);
            None
        }
    }
}

fn grants(key: &CallerKey, names: &Names<'_>, path: &Path<'_>, findings: &mut Findings) -> Grants {
    let mut items = Vec::new();
    for (index, item) in key.models.iter().enumerate() {
        if item.is_empty() {
            findings.problem(
                &path.item(index),
                "is empty; write a name in `models` or a pattern such as `openai/*`",
            );
            continue;
        }
        let granted = names.models.contains(item.as_str()) || item == "*";
        if let Some(why) = (!granted).then(|| matches_nothing(item, names)).flatten() {
            findings.warning(&path.item(index), why);
        }
        items.push(item.as_str().into());
    }
    let all = key.models.is_empty() || key.models.iter().any(|item| item == "*");
    Grants { all, items: items.into() }
}

/// Why a pattern can match no target of any provider that there is.
fn matches_nothing(item: &str, names: &Names<'_>) -> Option<String> {
    let providers = || names.providers.iter().copied();
    let Some((provider, _)) = item.split_once('/') else {
        // A star may stand for the slash too: then what comes up to it must fit a provider.
        let head = item.split_inclusive('*').next().filter(|head| head.ends_with('*'));
        if head.is_some_and(|head| providers().any(|name| pattern::matches(head, &format!("{name}/")))) {
            return None;
        }
        let meant = did_you_mean(item, names.models.iter().copied());
        let mend = if meant.is_empty() { format!("; write `*/{item}` for any provider's") } else { meant };
        return Some(format!("`{item}` is no name in `models` and matches no `provider/model`{mend}"));
    };
    if providers().any(|name| pattern::matches(provider, name)) || provider.contains('*') {
        return None;
    }
    let meant = did_you_mean(provider, providers());
    Some(format!("`{provider}` is not in `providers`, so this matches nothing{meant}"))
}
