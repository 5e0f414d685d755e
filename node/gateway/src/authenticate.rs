//! Who asks: the key in the headers, looked up by its hash.

use crate::headers::Headers;
use sha2::{Digest, Sha256};
use std::{sync::Arc, time::SystemTime};
use trestle_config::{Caller, Snapshot};
use trestle_dialect::{Refusal, RefusalKind};

/// Where clients of Bifrost put the key of this gateway. It wins, for beside it their SDK sends something in its usual
/// place because it has to, often no key at all.
pub(crate) const OWN_HEADER: &str = "x-bf-vk";
/// Where SDKs put their key, beside `authorization`.
const KEY_HEADERS: [&str; 3] = ["x-api-key", "x-goog-api-key", "api-key"];

/// The caller behind the headers, or behind a key in the query; `None` is nobody in particular, where the document allows that.
pub(crate) fn authenticate(
    snapshot: &Snapshot,
    headers: &Headers,
    in_query: Option<&str>,
) -> Result<Option<Arc<Caller>>, Refusal> {
    let required = snapshot.settings.require_keys;
    let Some(key) = presented(headers)?.or(in_query.map(str::as_bytes)) else {
        return if required { Err(unauthenticated(MISSING)) } else { Ok(None) };
    };
    let digest: [u8; 32] = Sha256::digest(key).into();
    known(snapshot, &digest)
}

/// The caller whose key has this hash.
pub(crate) fn known(snapshot: &Snapshot, hash: &[u8; 32]) -> Result<Option<Arc<Caller>>, Refusal> {
    match snapshot.callers.get(hash) {
        Some(caller) if caller.disabled => Err(unauthenticated("this key is disabled")),
        // The clock is read only where it matters.
        Some(caller) if caller.expires_at.is_some_and(|at| SystemTime::now() >= at) => {
            Err(unauthenticated("this key has expired"))
        }
        Some(caller) => Ok(Some(Arc::clone(caller))),
        None if snapshot.settings.require_keys => Err(unauthenticated("this key is not known here")),
        None => Ok(None),
    }
}

const MISSING: &str =
    "no key: send one as `authorization: Bearer KEY`, `x-api-key`, `x-goog-api-key`, `api-key` or `x-bf-vk`";

pub(crate) fn unauthenticated(message: &'static str) -> Refusal {
    Refusal::new(RefusalKind::Unauthenticated, message)
}

fn presented(headers: &Headers) -> Result<Option<&[u8]>, Refusal> {
    let key = if let Some(value) = headers.get(OWN_HEADER) {
        value
    } else if let Some(value) = headers.get("authorization") {
        let (scheme, key) = value.split_at_checked(7).unwrap_or((value, b""));
        if !scheme.eq_ignore_ascii_case(b"bearer ") && !value.eq_ignore_ascii_case(b"bearer") {
            return Err(unauthenticated("`authorization` must be `Bearer KEY`"));
        }
        key
    } else if let Some(value) = KEY_HEADERS.iter().find_map(|name| headers.get(name)) {
        value
    } else {
        return Ok(None);
    };
    match key.trim_ascii() {
        [] => Err(unauthenticated("the key is empty")),
        key => Ok(Some(key)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::HostSecrets;
    use http::{HeaderMap, HeaderName};
    use trestle_config::hash_text;

    #[test]
    fn keys_that_are_disabled_or_have_expired_are_refused() {
        let key = |name: &str, more: &str| format!("  {name}: {{ value: \"{}\"{more} }}\n", hash_text(name));
        let past = "2020-01-01T00:00:00Z";
        let former = format!(", previous: {{ value: \"{}\", expires_at: {past} }}", hash_text("former"));
        let keys = [
            key("open", ", expires_at: 9999-01-01T00:00:00Z"),
            key("closed", ", disabled: true"),
            key("past", &format!(", expires_at: {past}")),
            key("rotated", &former),
        ];
        let document = trestle_config::parse(&format!("keys:\n{}", keys.concat())).unwrap();
        let snapshot = trestle_config::compile(&document, 1, &HostSecrets).unwrap().snapshot;
        for (secret, expected) in [
            ("open", Ok(Some("open"))),
            ("rotated", Ok(Some("rotated"))),
            ("closed", Err("this key is disabled")),
            ("past", Err("this key has expired")),
            ("former", Err("this key has expired")),
            ("other", Err("this key is not known here")),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert("x-api-key", secret.parse().unwrap());
            let found = authenticate(&snapshot, &Headers::Map(headers), None);
            let found = found.as_ref().map(|caller| caller.as_ref().map(|caller| &*caller.name));
            assert_eq!(found.map_err(|refusal| &*refusal.message), expected, "{secret}");
        }
    }

    fn check(header: (&'static str, &str), expected: Result<Option<&[u8]>, &str>) {
        check_all(&[header], expected);
    }

    fn check_all(sent: &[(&'static str, &str)], expected: Result<Option<&[u8]>, &str>) {
        let sent = sent.iter().map(|(name, value)| (HeaderName::from_static(name), value.parse().unwrap()));
        let headers = Headers::Map(HeaderMap::from_iter(sent));
        let found = presented(&headers);
        assert_eq!(found.as_ref().map_err(|refusal| &*refusal.message).copied(), expected, "{headers:?}");
    }

    #[test]
    fn keys_are_found_where_sdks_put_them() {
        check(("authorization", "Bearer abc"), Ok(Some(b"abc")));
        check(("authorization", "bearer  abc "), Ok(Some(b"abc")));
        check(("x-api-key", "abc"), Ok(Some(b"abc")));
        check(("x-goog-api-key", "abc"), Ok(Some(b"abc")));
        check(("api-key", "abc"), Ok(Some(b"abc")));
        check(("x-bf-vk", "abc"), Ok(Some(b"abc")));
        check(("cookie", "abc"), Ok(None));
        check(("x-bf-api-key", "abc"), Ok(None));
        check(("authorization", "Basic abc"), Err("`authorization` must be `Bearer KEY`"));
        check(("authorization", "Bearer "), Err("the key is empty"));
        check(("authorization", "Bearer"), Err("the key is empty"));
        check(("x-api-key", " "), Err("the key is empty"));
        check(("x-bf-vk", ""), Err("the key is empty"));
    }

    #[test]
    fn of_several_keys_one_counts() {
        check_all(&[("authorization", "Bearer abc"), ("x-api-key", "def")], Ok(Some(b"abc")));
        check_all(&[("x-api-key", "abc"), ("api-key", "def")], Ok(Some(b"abc")));
        check_all(&[("authorization", "Bearer dummy"), ("x-bf-vk", "abc")], Ok(Some(b"abc")));
        check_all(&[("authorization", "Basic dummy"), ("x-bf-vk", "abc")], Ok(Some(b"abc")));
    }
}
