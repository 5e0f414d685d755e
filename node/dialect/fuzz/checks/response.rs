//! What must hold for any bytes as a whole answer, or as an error.

use bytes::Bytes;
use trestle_dialect::{Dialect, Failure, Fault, inbound, ir::Event, json::Raw, outbound};

#[path = "pick.rs"]
mod pick;

const STATUSES: [u16; 8] = [400, 401, 404, 413, 429, 498, 503, 529];

/// Checks an answer: the first byte picks its dialect, the rest is its body.
pub(crate) fn check(data: &[u8]) {
    let Some((dialect, body)) = pick::dialect(data) else { return };
    let body = Bytes::copy_from_slice(body);
    let out = outbound(dialect);
    for status in STATUSES {
        fault(dialect, &out.decode_fault(status, &body));
    }
    let in_tail = out.usage_in_tail(&body);
    let Ok(root) = Raw::parse(&body) else {
        return assert!(out.decode_response(&body).is_err());
    };
    let usage = root.get(out.usage_member()).and_then(|member| out.usage(member));
    let unique = matches!(root.unique_members(), Some(Ok(_)));
    if unique {
        assert_eq!(in_tail, usage, "however it is found");
    }
    let Ok(response) = out.decode_response(&body) else { return };
    if unique {
        assert_eq!(response.usage, usage, "the meter and the reader agree");
    }
    for other in Dialect::ALL {
        let encoded = inbound(other).encode_response(&response, &pick::context());
        assert!(Raw::parse(&encoded.body).is_ok(), "{other:?} {}", String::from_utf8_lossy(&encoded.body));
        assert!(encoded.dropped.len() <= 64);
    }
}

/// An error is bounded, and every client can be told of it: whole, and in a stream, which it does not end properly.
fn fault(dialect: Dialect, fault: &Fault) {
    assert!(fault.message.len() <= 2048, "{dialect:?}");
    for word in [&fault.code, &fault.param] {
        assert!(word.as_ref().is_none_or(|word| word.len() <= 128));
    }
    let failure = Failure {
        status: fault.status,
        category: fault.category,
        message: &fault.message,
        code: fault.code.as_deref(),
        param: fault.param.as_deref(),
        attempts: &[],
        request_id: "req-1",
    };
    for other in Dialect::ALL {
        assert!(Raw::parse(&inbound(other).encode_failure(&failure)).is_ok());
        let wire = inbound(other).encode_failure_event(&failure);
        let (mut reader, mut events) = (outbound(other).decode_events(), Vec::new());
        for event in other.framing().events(&wire) {
            assert!(reader.decode(&event, &mut events).is_ok(), "{other:?}");
        }
        assert!(!reader.ended() && matches!(events.last(), Some(Event::Fault(_))), "{other:?} {events:?}");
    }
}
