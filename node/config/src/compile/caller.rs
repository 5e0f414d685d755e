//! A key of a client, and what it may use.

use super::{MOCK, Secrets, check_name, secret::Source};
use crate::{
    Caller, CallerKey, Callers, Document, Grants, PreviousKey, hash, path::Path, pattern, problem::Findings,
    suggest::did_you_mean,
};
use std::{collections::BTreeSet, sync::Arc, time::SystemTime};

/// Most tags of a key, and the longest.
const TAGS_MAX: usize = 64;
const TAG_BYTES_MAX: usize = 128;

/// What a key may refer to.
pub(super) struct Names<'a> {
    providers: BTreeSet<&'a str>,
    models: BTreeSet<&'a str>,
}

impl<'a> Names<'a> {
    pub(super) fn of(document: &'a Document) -> Self {
        Self {
            providers: document.providers.keys().map(String::as_str).chain([MOCK]).collect(),
            models: document.models.keys().map(String::as_str).collect(),
        }
    }
}

/// Adds the caller to the others, unless something is wrong or its key cannot be had.
pub(super) fn compile(
    (name, key): (&str, &CallerKey),
    names: &Names<'_>,
    secrets: &dyn Secrets,
    callers: &mut Callers,
    findings: &mut Findings,
) {
    let root = Path::Root;
    let root = root.member("keys");
    let path = root.member(name);
    check_name(name, &path, findings);
    let grants = grants(key, names, &path.member("models"), findings);
    check_tags(&key.tags, &path.member("tags"), findings);
    let expires_at = key.expires_at.as_ref().and_then(|at| time(at, &path.member("expires_at"), findings));
    let former =
        key.previous.as_ref().and_then(|key| former(key, secrets, &path.member("previous"), findings));
    let path = path.member("value");
    let Some(hash) = hash_of(&key.value, secrets, &path, findings) else { return };
    let previous = former.map(|(hash, _)| hash).filter(|previous| *previous != hash);
    let (disabled, strict) = (key.disabled, key.strict);
    let name = name.into();
    let caller = Caller { name, hash, previous, grants, disabled, strict, expires_at, ..Caller::default() };
    let caller = Arc::new(caller);
    if let Err(other) = callers.insert(&caller) {
        findings.problem(&path, format!("is the same key as that of `{}`; give each its own", other.name));
        return;
    }
    if let (Some(previous), Some((_, until))) = (previous, former) {
        let expires_at = Some(caller.expires_at.map_or(until, |at| at.min(until)));
        callers.insert_previous(previous, Caller { expires_at, ..Caller::clone(&caller) });
    }
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
