//! A proxy on the way to a provider.

use crate::{Origin, credential::Secret, url::Base};
use base64::{Engine, prelude::BASE64_STANDARD};
use http::HeaderValue;
use percent_encoding::percent_decode_str;

/// A proxy on the way to a provider. `Debug` shows where it is, not who we are to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proxy {
    /// Where it is.
    pub origin: Origin,
    /// Who we are to it (value marked sensitive).
    pub authorization: Option<HeaderValue>,
    /// The same in its parts: user and password.
    pub(crate) identity: Option<(String, Secret)>,
}

impl Proxy {
    /// From a URL such as `http://user:password@proxy:3128`. The error says what is wrong, without the URL.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        let shape = "is no URL of a proxy; write one such as `http://user:password@proxy:3128`";
        let (scheme, rest) = text.split_once("://").ok_or(shape)?;
        let rest = rest.strip_suffix('/').unwrap_or(rest);
        let (identity, host) = match rest.rsplit_once('@') {
            Some((identity, host)) => (Some(identity), host),
            None => (None, rest),
        };
        if host.contains(['/', '?', '#']) {
            return Err(shape);
        }
        let origin = Base::parse(&format!("{scheme}://{host}"))?.origin;
        let identity = identity.map(parts).transpose()?;
        let authorization = identity.as_ref().map(authorization).transpose()?;
        Ok(Self { origin, authorization, identity })
    }
}

const BAD: &str =
    "has a user or password that makes no sense; write both, percent-encoded where they hold `:`, `@` or `/`";

/// User and password of `user:password`, both percent-encoded.
fn parts(identity: &str) -> Result<(String, Secret), &'static str> {
    let (user, password) = identity.split_once(':').ok_or(BAD)?;
    if identity.contains(['/', '?', '#', '@']) || password.contains(':') {
        return Err(BAD);
    }
    let plain = |text| percent_decode_str(text).decode_utf8().map_err(|_| BAD);
    let (user, password) = (plain(user)?, plain(password)?);
    if user.is_empty() || user.contains(':') {
        return Err(BAD);
    }
    Ok((user.into_owned(), Secret::new(password)))
}

/// Basic credentials (RFC 7617).
fn authorization((user, password): &(String, Secret)) -> Result<HeaderValue, &'static str> {
    let encoded = BASE64_STANDARD.encode(format!("{user}:{}", password.reveal()));
    let mut value = HeaderValue::from_str(&format!("Basic {encoded}")).map_err(|_| BAD)?;
    value.set_sensitive(true);
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_of_proxies_are_read() {
        let check = |text: &str, expected: (bool, &str, u16, Option<&str>)| {
            let made = Proxy::parse(text).unwrap();
            let authorization = made.authorization.as_ref().map(|value| value.to_str().unwrap());
            let found = (made.origin.tls, &*made.origin.host, made.origin.port, authorization);
            assert_eq!(found, expected, "{text}");
            assert!(!format!("{made:?}").contains("ecret"), "{made:?}");
        };
        check("http://proxy:3128", (false, "proxy", 3128, None));
        check("https://proxy.example/", (true, "proxy.example", 443, None));
        check(
            "http://u:s%40ecret%3a@10.0.0.1:8080",
            (false, "10.0.0.1", 8080, Some("Basic dTpzQGVjcmV0Og==")),
        );
    }

    #[test]
    fn what_is_no_proxy_is_refused_without_being_shown() {
        for text in [
            "proxy:3128",
            "socks5://proxy:1",
            "http://",
            "http://u@proxy",
            "http://u:a:b@proxy",
            "http://u:p/w@proxy",
            "http://:p@proxy",
            "http://proxy/path",
            "http://proxy?x",
            "http://169.254.169.254",
            "http://u:%ff@proxy",
        ] {
            assert!(Proxy::parse(text).is_err(), "{text}");
        }
    }
}
