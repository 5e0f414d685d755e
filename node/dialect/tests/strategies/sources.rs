//! Where answers come from, and how likely their tokens were.

use super::json::{text, word};
use proptest::{collection::vec, option, prelude::*, sample::select};
use trestle_dialect::{
    Dialect,
    ir::{Citation, Json, Likelihood, Text, TokenLogprob},
};

/// Of OpenAI Chat.
pub(crate) fn annotation() -> impl Strategy<Value = Citation> {
    (0..5_u64, 0..5_u64, word(), text()).prop_map(|(from, length, url, title)| {
        let to = from + length;
        let json = serde_json::json!({"type": "url_citation", "url_citation":
            {"start_index": from, "end_index": to, "url": url.plain(), "title": title.plain()}});
        Citation {
            dialect: Dialect::OpenAiChat,
            json: Json::parse(&json.to_string()).unwrap(),
            span: Some((from, to)),
            url: Some(url),
            title: Some(Text::new(&title.plain())),
            cited_text: None,
        }
    })
}

/// Of Anthropic Messages.
pub(crate) fn location() -> impl Strategy<Value = Citation> {
    let names = select(vec![("title", "web_search_result_location"), ("document_title", "char_location")]);
    (names, text(), text()).prop_map(|((name, kind), title, cited_text)| {
        let json =
            serde_json::json!({"type": kind, name: title.plain(), "cited_text": cited_text.plain(), "x": 1});
        Citation {
            dialect: Dialect::AnthropicMessages,
            json: Json::parse(&json.to_string()).unwrap(),
            span: None,
            url: None,
            title: Some(Text::new(&title.plain())),
            cited_text: Some(Text::new(&cited_text.plain())),
        }
    })
}

fn likelihood() -> impl Strategy<Value = Likelihood> {
    let bytes = option::of(select(vec!["[]", "[104, 105]"]).prop_map(Json::fixed));
    (text(), select(vec!["-0.25", "0", "-9999.0", "-1e-3"]), bytes)
        .prop_map(|(token, logprob, bytes)| Likelihood { token, logprob: Json::fixed(logprob), bytes })
}

/// A token and those that were nearly chosen.
pub(crate) fn token() -> impl Strategy<Value = TokenLogprob> {
    (likelihood(), vec(likelihood(), 0..3)).prop_map(|(chosen, top)| TokenLogprob { chosen, top })
}
