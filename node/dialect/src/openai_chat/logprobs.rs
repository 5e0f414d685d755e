//! How likely the tokens of an answer were: the same form in whole answers and in chunks.

use super::response::HasRefusal;
use crate::{
    ir::{Likelihood, TokenLogprob},
    json::{Kind, Raw, Writer, unescape},
};
use bytes::Bytes;

/// Reads the `logprobs` of a choice: those of its content, then those of its refusal.
pub(super) fn read(value: Raw<'_>, owner: &Bytes) -> Vec<TokenLogprob> {
    let lists = ["content", "refusal"].into_iter().filter_map(|name| value.get(name));
    lists.flat_map(Raw::elements).filter_map(|token| read_token(token, owner)).collect()
}

/// A token without its text or its number tells nothing.
fn read_token(value: Raw<'_>, owner: &Bytes) -> Option<TokenLogprob> {
    let top = value.get("top_logprobs").into_iter().flat_map(Raw::elements);
    let top = top.filter_map(|token| likelihood(token, owner)).collect();
    Some(TokenLogprob { chosen: likelihood(value, owner)?, top })
}

fn likelihood(value: Raw<'_>, owner: &Bytes) -> Option<Likelihood> {
    let (mut token, mut logprob, mut bytes) = (None, None, None);
    for member in value.members() {
        match &*unescape(member.key) {
            "token" => token = member.value.text(owner),
            "logprob" if member.value.kind() == Kind::Number => logprob = Some(member.value.json(owner)),
            "bytes" if member.value.kind() == Kind::Array => bytes = Some(member.value.json(owner)),
            _ => {}
        }
    }
    Some(Likelihood { token: token?, logprob: logprob?, bytes })
}

/// Writes the object. The two lists of the wire are one here: it is the refusal's where nothing else was said.
pub(super) fn write(list: &[TokenLogprob], only_refusal: HasRefusal, out: &mut Writer) {
    let (name, other) = match only_refusal {
        HasRefusal::Yes => ("refusal", "content"),
        HasRefusal::No => ("content", "refusal"),
    };
    out.begin_object();
    out.key(name);
    out.begin_array();
    for token in list {
        out.begin_object();
        write_likelihood(&token.chosen, out);
        out.key("top_logprobs");
        out.begin_array();
        for other in &token.top {
            out.begin_object();
            write_likelihood(other, out);
            out.end_object();
        }
        out.end_array();
        out.end_object();
    }
    out.end_array();
    out.key(other);
    out.null();
    out.end_object();
}

fn write_likelihood(likelihood: &Likelihood, out: &mut Writer) {
    out.key("token");
    out.text(&likelihood.token);
    out.key("logprob");
    out.json(&likelihood.logprob);
    out.key("bytes");
    match &likelihood.bytes {
        Some(bytes) => out.json(bytes),
        None => out.null(),
    }
}
