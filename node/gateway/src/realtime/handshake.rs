//! The opening handshake of WebSocket (RFC 6455, section 4), towards clients and providers.

use crate::headers::Headers;
use base64::{Engine as _, engine::general_purpose::STANDARD};
use http::{HeaderMap, HeaderName, HeaderValue, header};
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use trestle_dialect::Refusal;

/// The protocol that clients ask for which cannot send a header, such as browsers.
const REALTIME: &str = "realtime";
/// Such a client puts its key behind this.
const KEY: &str = "openai-insecure-api-key.";
/// And what others say in `openai-beta` behind this.
const BETA: &str = "openai-beta.";
static WEBSOCKET: HeaderValue = HeaderValue::from_static("websocket");
static UPGRADE: HeaderValue = HeaderValue::from_static("upgrade");
static VERSION: HeaderValue = HeaderValue::from_static("13");

/// What a client offers.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Offer {
    /// Proves that we have read it.
    accept: String,
    /// The protocols that it would speak, without its key.
    protocols: Vec<String>,
}

/// The protocols that a client lists.
fn protocols(headers: &Headers) -> impl Iterator<Item = &str> {
    let lists = headers.get_all(header::SEC_WEBSOCKET_PROTOCOL.as_str());
    let lists = lists.into_iter().filter_map(|list| std::str::from_utf8(list).ok());
    lists.flat_map(|list| list.split(',')).map(str::trim)
}

/// The key of a client that has no other place for it.
pub(crate) fn key(headers: &Headers) -> Option<&str> {
    protocols(headers).find_map(|protocol| protocol.strip_prefix(KEY)).filter(|key| !key.is_empty())
}

/// Reads what the client offers, or says why that is no handshake.
pub(crate) fn read(headers: &Headers) -> Result<Offer, Refusal> {
    let has = |name: HeaderName, word: &str| {
        let values = headers.get_all(name.as_str());
        let words = values.iter().filter_map(|value| std::str::from_utf8(value).ok());
        words.flat_map(|value| value.split(',')).any(|one| one.trim().eq_ignore_ascii_case(word))
    };
    if !has(header::UPGRADE, "websocket") || !has(header::CONNECTION, "upgrade") {
        return Err(Refusal::invalid("upgrade", "this endpoint speaks WebSocket: send `upgrade: websocket`"));
    }
    if headers.get(header::SEC_WEBSOCKET_VERSION.as_str()) != Some(b"13") {
        let message = "the version of WebSocket must be 13";
        return Err(Refusal::invalid("sec-websocket-version", message));
    }
    let key = headers.get(header::SEC_WEBSOCKET_KEY.as_str()).unwrap_or_default();
    if STANDARD.decode(key).map_or(0, |key| key.len()) != 16 {
        return Err(Refusal::invalid("sec-websocket-key", "the header must be 16 bytes in base64"));
    }
    let known = |protocol: &&str| *protocol == REALTIME || protocol.starts_with(BETA);
    let protocols = protocols(headers).filter(known).map(str::to_owned).collect();
    Ok(Offer { accept: derive_accept_key(key), protocols })
}

/// The headers that accept an offer; `chosen` is the protocol that the provider chose.
pub(crate) fn accept(offer: &Offer, chosen: Option<&HeaderValue>, headers: &mut HeaderMap) {
    headers.insert(header::UPGRADE, WEBSOCKET.clone());
    headers.insert(header::CONNECTION, UPGRADE.clone());
    set(headers, header::SEC_WEBSOCKET_ACCEPT, &offer.accept);
    // A browser that has offered some wants one chosen.
    let offered =
        |chosen: &&HeaderValue| offer.protocols.iter().any(|own| own.as_bytes() == chosen.as_bytes());
    let usual = offer.protocols.iter().find(|protocol| *protocol == REALTIME);
    let usual = usual.and_then(|protocol| HeaderValue::try_from(protocol).ok());
    let protocol = chosen.filter(offered).cloned().or(usual);
    headers.extend(protocol.map(|protocol| (header::SEC_WEBSOCKET_PROTOCOL, protocol)));
}

/// The headers that ask a provider.
pub(crate) fn ask(key: &str, headers: &Headers, asked: &mut HeaderMap) {
    asked.insert(header::UPGRADE, WEBSOCKET.clone());
    asked.insert(header::CONNECTION, UPGRADE.clone());
    asked.insert(header::SEC_WEBSOCKET_VERSION, VERSION.clone());
    set(asked, header::SEC_WEBSOCKET_KEY, key);
    let known = |protocol: &&str| *protocol == REALTIME || protocol.starts_with(BETA);
    let list: Vec<_> = protocols(headers).filter(known).collect();
    if !list.is_empty() {
        set(asked, header::SEC_WEBSOCKET_PROTOCOL, &list.join(", "));
    }
}

fn set(headers: &mut HeaderMap, name: HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        headers.insert(name, value);
    }
}

/// Whether a provider has read what it was asked.
pub(crate) fn is_accepted(key: &str, answered: &HeaderMap) -> bool {
    let is = |name, word: &str| {
        let value: Option<&HeaderValue> = answered.get(name);
        value.is_some_and(|value| value.as_bytes().eq_ignore_ascii_case(word.as_bytes()))
    };
    let accept = answered.get(header::SEC_WEBSOCKET_ACCEPT).map(HeaderValue::as_bytes);
    is(header::UPGRADE, "websocket")
        && accept == Some(derive_accept_key(key.as_bytes()).as_bytes())
        && !answered.contains_key(header::SEC_WEBSOCKET_EXTENSIONS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(lines: &[(&'static str, &'static str)]) -> Headers {
        let lines = lines
            .iter()
            .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)));
        Headers::Map(HeaderMap::from_iter(lines))
    }

    const GOOD: [(&str, &str); 4] = [
        ("upgrade", "WebSocket"),
        ("connection", "keep-alive, Upgrade"),
        ("sec-websocket-version", "13"),
        ("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="),
    ];

    #[test]
    fn the_handshake_is_that_of_the_standard() {
        let offer = read(&headers(&GOOD)).unwrap();
        let mut accepted = HeaderMap::new();
        accept(&offer, None, &mut accepted);
        assert_eq!(accepted["sec-websocket-accept"], "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
        assert!(!accepted.contains_key("sec-websocket-protocol"));
        assert!(is_accepted("dGhlIHNhbXBsZSBub25jZQ==", &accepted));
        assert!(!is_accepted("another", &accepted));
        for (index, wrong) in [(0, "h2c"), (1, "close"), (2, "8"), (3, "short")] {
            let mut lines = GOOD;
            lines[index].1 = wrong;
            assert!(read(&headers(&lines)).is_err(), "{wrong}");
            assert!(read(&headers(&[&GOOD[..index], &GOOD[index + 1..]].concat())).is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_key_of_a_browser_stays_here() {
        let list = "realtime, openai-insecure-api-key.k-1, openai-beta.realtime-v1, openai-project.p";
        let sent = headers(&[&GOOD[..], &[("sec-websocket-protocol", list)]].concat());
        assert_eq!(key(&sent), Some("k-1"));
        let mut asked = HeaderMap::new();
        ask("n", &sent, &mut asked);
        assert_eq!(asked["sec-websocket-protocol"], "realtime, openai-beta.realtime-v1");
        let offer = read(&sent).unwrap();
        let chosen = |chosen: &'static str| {
            let mut accepted = HeaderMap::new();
            accept(&offer, Some(&HeaderValue::from_static(chosen)), &mut accepted);
            accepted["sec-websocket-protocol"].clone()
        };
        assert_eq!(chosen("openai-beta.realtime-v1"), "openai-beta.realtime-v1");
        assert_eq!(chosen("another"), "realtime");
    }
}
