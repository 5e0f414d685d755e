//! Log probabilities: `{"text", "token_ids", "logprobs"}`, one object for a text of one or several tokens.

use crate::{
    dropped,
    ir::{Json, Likelihood, TokenLogprob},
    json::{Kind, Raw, Writer},
};
use bytes::Bytes;

/// Reads one object; `None` if it says nothing. Which part of the text each of several tokens is, the vendor does
/// not tell: their sum is the logarithm for the text.
pub(super) fn read(value: Raw<'_>, owner: &Bytes) -> Option<TokenLogprob> {
    let token = value.get("text")?.text(owner)?;
    let list = value.get("logprobs")?;
    let mut numbers = list.elements();
    let first = numbers.next().filter(|first| first.kind() == Kind::Number)?;
    let mut logprob = first.json(owner);
    let mut sum = first.f64()?;
    let mut several = false;
    for number in numbers {
        sum += number.f64()?;
        several = true;
    }
    if several && sum.is_finite() {
        logprob = Json::from_valid(format!("{sum}").into());
    }
    Some(TokenLogprob { chosen: Likelihood { token, logprob, bytes: None }, top: Vec::new() })
}

/// Writes one object. The ids of the tokens are not known, but clients demand the member.
pub(super) fn write(token: &TokenLogprob, out: &mut Writer, dropped: &mut Vec<String>) {
    if !token.top.is_empty() {
        dropped::note(dropped, "logprobs[].top_logprobs");
    }
    out.begin_object();
    out.key("text");
    out.text(&token.chosen.token);
    out.key("token_ids");
    out.begin_array();
    out.end_array();
    out.key("logprobs");
    out.begin_array();
    out.json(&token.chosen.logprob);
    out.end_array();
    out.end_object();
}
