//! Admin tokens: kept as their SHA-256, looked up at each request of the admin API.

use super::Role;
use serde::{Deserialize, Serialize};
use std::{collections::HashMap, time::SystemTime};
use trestle_config::hash_text;

/// An admin token as it is kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TokenEntity {
    /// `sha256:HEX` of the token.
    pub(crate) value: String,
    /// What it allows.
    pub(crate) role: Role,
    /// Refused from then on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) expires_at: Option<String>,
}

impl TokenEntity {
    /// One without an end.
    pub(crate) fn new(value: String, role: Role) -> Self {
        Self { value, role, expires_at: None }
    }
}

/// Who may use the admin API.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AdminToken {
    /// Its name.
    pub(crate) name: String,
    /// What it allows.
    pub(crate) role: Role,
    expires_at: Option<SystemTime>,
}

/// All admin tokens, by the text of their hash.
#[derive(Debug, Default)]
pub(crate) struct Tokens(HashMap<String, AdminToken>);

impl Tokens {
    /// Adds a token. One whose end cannot be read has ended.
    pub(crate) fn add(&mut self, name: &str, token: TokenEntity) {
        let end = |text: String| humantime::parse_rfc3339(&text).unwrap_or(SystemTime::UNIX_EPOCH);
        let TokenEntity { value, role, expires_at } = token;
        self.0.insert(value, AdminToken { name: name.to_owned(), role, expires_at: expires_at.map(end) });
    }

    /// The token that a request presents.
    pub(crate) fn find(&self, secret: &str, now: SystemTime) -> Option<&AdminToken> {
        let token = self.0.get(&hash_text(secret))?;
        token.expires_at.is_none_or(|end| now < end).then_some(token)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn tokens_are_found_until_they_end() {
        let token = |secret: &str, expires_at: Option<&str>| TokenEntity {
            value: hash_text(secret),
            role: Role::Viewer,
            expires_at: expires_at.map(str::to_owned),
        };
        let mut tokens = Tokens::default();
        tokens.add("always", token("one", None));
        tokens.add("once", token("two", Some("1970-01-01T00:00:10Z")));
        tokens.add("never", token("three", Some("soon")));
        let name = |secret: &str, second| {
            let now = SystemTime::UNIX_EPOCH + Duration::from_secs(second);
            tokens.find(secret, now).map(|token| token.name.as_str())
        };
        assert_eq!((name("one", 0), name("one", 99)), (Some("always"), Some("always")));
        assert_eq!((name("two", 9), name("two", 10)), (Some("once"), None));
        assert_eq!((name("three", 0), name("four", 0)), (None, None));
        assert!(Role::Viewer < Role::Operator && Role::Operator < Role::Admin);
    }
}
