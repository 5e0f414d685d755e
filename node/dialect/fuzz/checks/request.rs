//! What must hold for any bytes as a request: what is refused names its member, and whatever is sent is a body.
#![allow(clippy::expect_used)] // a panic here is a failed check

use bytes::Bytes;
use trestle_dialect::{Dialect, Envelope, inbound, ir::Json, may_need, outbound};

#[path = "pick.rs"]
mod pick;

/// Checks a request: the first byte picks its dialect, the rest is its body.
pub(crate) fn check(data: &[u8]) {
    let Some((dialect, body)) = pick::dialect(data) else { return };
    let Ok(envelope) = Envelope::parse(Bytes::copy_from_slice(body)) else { return };
    let params = [("seed".to_owned(), Json::fixed("7")), ("max_tokens".to_owned(), Json::fixed("8"))];
    let all = pick::quirks();
    for quirks in &all {
        for params in [&params[..], &[]] {
            let edited = outbound(dialect).edit_request(&envelope, &pick::target(quirks, params));
            let (edits, _) = edited.expect("a body that can be edited");
            let edited = Bytes::from(edits.apply(&envelope).concat());
            assert!(Envelope::parse(edited.clone()).is_ok(), "{}", String::from_utf8_lossy(&edited));
        }
    }
    inbound(dialect).wants_usage(&envelope);
    let request = match inbound(dialect).decode_request(&envelope) {
        Ok(request) => request,
        Err(refusal) => return assert!(refusal.param.is_some(), "{refusal}"),
    };
    let needs = request.needs;
    assert!(needs.is_empty() || may_need(&envelope, needs), "{needs:?} was missed");
    for other in Dialect::ALL {
        for quirks in &all {
            let Ok(encoded) = outbound(other).encode_request(&request, &pick::target(quirks, &params)) else {
                continue;
            };
            let body = Bytes::from(encoded.body);
            assert!(Envelope::parse(body.clone()).is_ok(), "{other:?} {}", String::from_utf8_lossy(&body));
            assert!(encoded.dropped.len() <= 64);
        }
    }
}
