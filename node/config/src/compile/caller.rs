//! Keys of clients, and what each may use.

use super::{Providers, Secrets, check_name, secret::Source};
use crate::{
    Caller, CallerKey, Document, FirstBytes, Grants, hash, path::Path, pattern, problem::Findings,
    suggest::did_you_mean,
};
use std::{
    collections::{HashMap, hash_map::Entry},
    hash::BuildHasherDefault,
    sync::Arc,
};

type Callers = HashMap<[u8; 32], Arc<Caller>, BuildHasherDefault<FirstBytes>>;

pub(super) fn compile(
    document: &Document,
    providers: &Providers<'_>,
    secrets: &dyn Secrets,
    findings: &mut Findings,
) -> Callers {
    let root = Path::Root;
    let root = root.member("keys");
    let mut callers = Callers::with_capacity_and_hasher(document.keys.len(), BuildHasherDefault::default());
    if document.keys.is_empty() && document.settings.require_keys {
        findings.warning(
            &root,
            "is empty, so every request is refused; add a key or set `settings.require_keys: false`",
        );
    }
    for (name, key) in &document.keys {
        let path = root.member(name);
        check_name(name, &path, findings);
        let grants = grants(key, document, providers, &path.member("models"), findings);
        let Some(hash) = hash_of(key, secrets, &path.member("value"), findings) else { continue };
        match callers.entry(hash) {
            Entry::Occupied(other) => {
                let message = format!("is the same key as that of `{}`; give each its own", other.get().name);
                findings.problem(&path.member("value"), message);
            }
            Entry::Vacant(free) => {
                free.insert(Arc::new(Caller { name: name.as_str().into(), grants, disabled: key.disabled }));
            }
        }
    }
    callers
}

/// `None` after a problem or warning.
fn hash_of(
    key: &CallerKey,
    secrets: &dyn Secrets,
    path: &Path<'_>,
    findings: &mut Findings,
) -> Option<[u8; 32]> {
    if let Some(hex) = key.value.strip_prefix(hash::PREFIX) {
        let hash = hash::parse_hex(hex);
        if hash.is_none() {
            let message =
                "must be `sha256:` and 64 hexadecimal digits, made with `printf %s KEY | sha256sum`";
            findings.problem(path, message);
        }
        return hash;
    }
    match Source::of(&key.value) {
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

fn grants(
    key: &CallerKey,
    document: &Document,
    providers: &Providers<'_>,
    path: &Path<'_>,
    findings: &mut Findings,
) -> Grants {
    let mut grants = Grants { all: key.models.is_empty(), ..Grants::default() };
    for (index, item) in key.models.iter().enumerate() {
        if document.models.contains_key(item) {
            grants.groups.push(item.as_str().into());
        } else if item == "*" {
            grants.all = true;
        } else if item.is_empty() {
            findings.problem(
                &path.item(index),
                "is empty; write a name in `models` or a pattern such as `openai/*`",
            );
        } else {
            if let Some(why) = matches_nothing(item, document, providers) {
                findings.warning(&path.item(index), why);
            }
            grants.patterns.push(item.as_str().into());
        }
    }
    grants
}

/// Why a pattern can match no target of any provider that there is.
fn matches_nothing(item: &str, document: &Document, providers: &Providers<'_>) -> Option<String> {
    let Some((provider, _)) = item.split_once('/') else {
        // A star may stand for the slash too: then what comes up to it must fit a provider.
        let head = item.split_inclusive('*').next().filter(|head| head.ends_with('*'));
        if head.is_some_and(|head| providers.keys().any(|name| pattern::matches(head, &format!("{name}/")))) {
            return None;
        }
        let meant = did_you_mean(item, document.models.keys().map(String::as_str));
        let mend = if meant.is_empty() { format!("; write `*/{item}` for any provider's") } else { meant };
        return Some(format!("`{item}` is no name in `models` and matches no `provider/model`{mend}"));
    };
    if providers.keys().any(|name| pattern::matches(provider, name)) || provider.contains('*') {
        return None;
    }
    let meant = did_you_mean(provider, providers.keys().copied());
    Some(format!("`{provider}` is not in `providers`, so this matches nothing{meant}"))
}
