//! Which header names a row may use, and for what.

use http::HeaderName;

/// Of one connection, or made by us for every call (RFC 9110, section 7.6.1).
const TRANSPORT: [&str; 14] = [
    "accept-encoding",
    "connection",
    "content-encoding",
    "content-length",
    "content-type",
    "expect",
    "forwarded",
    "host",
    "keep-alive",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "via",
];

/// Carry the identity of a client.
const CREDENTIALS: [&str; 7] =
    ["api-key", "authorization", "cookie", "set-cookie", "x-api-key", "x-bf-vk", "x-goog-api-key"];

/// Begin the names of headers that are for a gateway: ours, and those that clients of Bifrost still send.
const GATEWAY: [&str; 2] = ["x-trestle-", "x-bf-"];

/// Why a header may not be set to a fixed value.
pub(crate) fn cannot_set(name: &HeaderName) -> Option<&'static str> {
    let name = name.as_str();
    if TRANSPORT.contains(&name) {
        Some("belongs to the connection; leave it out")
    } else if CREDENTIALS.contains(&name) || name.starts_with("proxy-") {
        Some("carries a credential; put the key into `keys` and its header into `auth`")
    } else {
        None
    }
}

/// Why a header of the client may not go on to a provider.
pub(crate) fn cannot_forward(name: &HeaderName) -> Option<&'static str> {
    let name = name.as_str();
    if TRANSPORT.contains(&name) {
        Some("belongs to the client's connection; leave it out")
    } else if CREDENTIALS.contains(&name) || name.starts_with("proxy-") {
        Some("would leak the client's credentials to the provider; leave it out")
    } else if GATEWAY.iter().any(|start| name.starts_with(start)) {
        Some("is meant for this gateway; leave it out")
    } else {
        None
    }
}

/// Why a header may not present a key.
pub(crate) fn cannot_present(name: &HeaderName) -> Option<&'static str> {
    let refused = TRANSPORT.contains(&name.as_str()) || matches!(name.as_str(), "cookie" | "set-cookie");
    refused.then_some("cannot present a key; use a header such as `x-api-key`, or `bearer`")
}
