//! What must hold for any bytes as a request for embeddings, or as an answer to one: what is refused names its member,
//! and whatever is sent is a body.
#![allow(clippy::expect_used)] // a panic here is a failed check

use bytes::Bytes;
use trestle_dialect::{
    Envelope,
    embed::{Form, Request, codec, edit},
    ir::Json,
};

#[path = "pick.rs"]
mod pick;

/// Checks a body: the first byte picks its form (`0` to `6`), the rest is the body.
pub(crate) fn check(data: &[u8]) {
    let Some((first, rest)) = data.split_first() else { return };
    let form = Form::ALL[usize::from(*first) % Form::ALL.len()];
    let body = Bytes::copy_from_slice(rest);
    if let Ok(response) = codec(form).decode_response(&body) {
        codec(form).usage_in_tail(&body);
        for other in Form::ALL {
            let request = Request::new(other);
            if let Ok(encoded) = codec(other).encode_response(&request, &response, &pick::context()) {
                is_body(other, encoded.body);
            }
        }
    }
    let Ok(envelope) = Envelope::parse(body) else { return };
    let params = [("seed".to_owned(), Json::fixed("7"))];
    let all = pick::quirks();
    for params in [&params[..], &[]] {
        if let Some(edits) = edit(form, &envelope, &pick::target(&all[0], params)) {
            is_body(form, edits.apply(&envelope).concat());
        }
    }
    let request = match codec(form).decode_request(&envelope) {
        Ok(request) => request,
        Err(refusal) => return assert!(refusal.param.is_some(), "{refusal}"),
    };
    for other in Form::ALL {
        for part in request.split(codec(other).inputs_max()).take(2) {
            for quirks in &all {
                match codec(other).encode_request(&part, &pick::target(quirks, &params)) {
                    Ok(encoded) => {
                        assert!(encoded.dropped.len() <= 64);
                        is_body(other, encoded.body);
                    }
                    Err(refusal) => assert!(refusal.param.is_some_and(|param| !param.is_empty())),
                }
            }
        }
    }
}

fn is_body(form: Form, body: Vec<u8>) {
    let body = Bytes::from(body);
    assert!(Envelope::parse(body.clone()).is_ok(), "{form:?} {}", String::from_utf8_lossy(&body));
}
