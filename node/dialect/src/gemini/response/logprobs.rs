//! How likely the tokens were: `logprobsResult`.

use crate::{
    ir::{Json, Likelihood, TokenLogprob},
    json::{Raw, Writer},
};
use bytes::Bytes;

/// Reads the chosen tokens with those that were nearly chosen.
pub(in crate::gemini) fn read_logprobs(value: Raw<'_>, owner: &Bytes) -> Vec<TokenLogprob> {
    let list = |name| value.get(name).into_iter().flat_map(Raw::elements);
    let mut tops = list("topCandidates");
    let tokens = list("chosenCandidates").map(|chosen| {
        let top = tops.next().and_then(|top| top.get("candidates"));
        let top = top.into_iter().flat_map(Raw::elements).map(|one| likelihood(one, owner)).collect();
        TokenLogprob { chosen: likelihood(chosen, owner), top }
    });
    tokens.collect()
}

/// A probability of 1 has no logarithm in the JSON of proto.
fn likelihood(value: Raw<'_>, owner: &Bytes) -> Likelihood {
    let token = value.get("token").and_then(|token| token.text(owner)).unwrap_or_default();
    let logprob = value.get("logProbability").filter(|number| number.f64().is_some());
    let logprob = logprob.map_or(Json::fixed("0"), |number| number.json(owner));
    Likelihood { token, logprob, bytes: None }
}

/// Writes them.
pub(in crate::gemini) fn write_logprobs(tokens: &[TokenLogprob], out: &mut Writer) {
    out.begin_object();
    if tokens.iter().any(|token| !token.top.is_empty()) {
        out.key("topCandidates");
        out.begin_array();
        for token in tokens {
            out.begin_object();
            out.key("candidates");
            out.begin_array();
            token.top.iter().for_each(|one| write_likelihood(one, out));
            out.end_array();
            out.end_object();
        }
        out.end_array();
    }
    out.key("chosenCandidates");
    out.begin_array();
    tokens.iter().for_each(|token| write_likelihood(&token.chosen, out));
    out.end_array();
    out.end_object();
}

fn write_likelihood(one: &Likelihood, out: &mut Writer) {
    out.begin_object();
    out.key("token");
    out.text(&one.token);
    out.key("logProbability");
    out.json(&one.logprob);
    out.end_object();
}
