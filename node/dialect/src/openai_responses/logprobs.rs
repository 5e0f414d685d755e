//! Log probabilities of a text.

use crate::{
    ir::{Json, Likelihood, TokenLogprob},
    json::{Kind, Raw, Writer},
};
use bytes::Bytes;

/// Reads an array; what is no token with its number is passed over.
pub(super) fn read(value: Raw<'_>, owner: &Bytes) -> Vec<TokenLogprob> {
    let one = |value: Raw<'_>| {
        let top = value.get("top_logprobs").into_iter().flat_map(Raw::elements);
        let top = top.filter_map(|other| likelihood(other, owner)).collect();
        Some(TokenLogprob { chosen: likelihood(value, owner)?, top })
    };
    value.elements().filter_map(one).collect()
}

fn likelihood(value: Raw<'_>, owner: &Bytes) -> Option<Likelihood> {
    let logprob = value.get("logprob").filter(|logprob| logprob.kind() == Kind::Number)?;
    let bytes = value.get("bytes").filter(|bytes| bytes.kind() == Kind::Array);
    Some(Likelihood {
        token: value.get("token")?.text(owner)?,
        logprob: logprob.json(owner),
        bytes: bytes.map(|bytes| bytes.json(owner)),
    })
}

/// Writes an array.
pub(super) fn write(out: &mut Writer, logprobs: &[TokenLogprob]) {
    out.begin_array();
    for TokenLogprob { chosen, top } in logprobs {
        out.begin_object();
        fields(out, chosen);
        out.key("top_logprobs");
        out.begin_array();
        for other in top {
            out.begin_object();
            fields(out, other);
            out.end_object();
        }
        out.end_array();
        out.end_object();
    }
    out.end_array();
}

/// Clients demand the bytes: where the vendor gave none they are those of the token.
fn fields(out: &mut Writer, likelihood: &Likelihood) {
    let Likelihood { token, logprob, bytes } = likelihood;
    out.key("token");
    out.text(token);
    out.key("logprob");
    out.json(logprob);
    out.key("bytes");
    match bytes {
        Some(bytes) => out.json(bytes),
        None => {
            out.begin_array();
            token.plain().bytes().for_each(|byte| out.u64(byte.into()));
            out.end_array();
        }
    }
}

/// What a list costs to keep, about.
pub(super) fn size(logprobs: &[TokenLogprob]) -> usize {
    let one = |likelihood: &Likelihood| {
        64 + likelihood.token.escaped().len()
            + likelihood.bytes.as_ref().map_or(0, |json: &Json| json.bytes().len())
    };
    logprobs.iter().map(|token| one(&token.chosen) + token.top.iter().map(one).sum::<usize>()).sum()
}
