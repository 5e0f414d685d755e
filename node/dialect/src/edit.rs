//! Edits of a body that stays in its dialect: what every dialect does, and what quirks demand of messages.

use crate::{
    Edits, Envelope, Target, dropped,
    ir::{Json, Text},
    json::{Kind, Raw, Writer},
};
use bytes::Bytes;

/// Sets the model and takes out what is ours. The common case; reads no message.
pub(crate) fn model(envelope: &Envelope, target: &Target<'_>, edits: &mut Edits) {
    if target.quirks.model_in_path {
        edits.remove(envelope, "model");
    } else if !envelope.get("model").is_some_and(|model| model.is_str(target.model)) {
        edits.set(envelope, "model", string(target.model));
    }
    edits.remove(envelope, "fallbacks");
}

/// Top-level quirks and parameters, last of all: parameters win.
pub(crate) fn members(
    envelope: &Envelope,
    target: &Target<'_>,
    edits: &mut Edits,
    dropped: &mut Vec<String>,
) {
    for name in &target.quirks.drop {
        if envelope.get(name).is_some() {
            edits.remove(envelope, name);
            let replaced = target.params.iter().any(|(param, _)| param == name);
            if !replaced {
                dropped::note(dropped, name);
            }
        }
    }
    for (from, to) in &target.quirks.rename {
        edits.rename(envelope, from, to);
    }
    for (name, value) in target.params {
        edits.set(envelope, name, value.clone());
    }
}

/// Joins content that consists of text parts only into one string, by a line feed, in every message.
pub(crate) fn flatten(envelope: &Envelope, edits: &mut Edits, dropped: &mut Vec<String>) {
    let Some(messages) = envelope.get("messages") else { return };
    for message in messages.elements() {
        let Some(content) = message.get("content").filter(|content| content.kind() == Kind::Array) else {
            continue;
        };
        if let Some(text) = joined(content, envelope.body(), dropped) {
            let mut out = Writer::with_capacity(text.escaped().len() + 2);
            out.text(&text);
            edits.replace(envelope, content, out.finish().into());
        }
    }
}

/// The text of the parts; `None` if one is not text.
fn joined(content: Raw<'_>, owner: &Bytes, dropped: &mut Vec<String>) -> Option<Text> {
    let text = |part: Raw<'_>| match part.get("type")?.is_str("text") {
        true => part.get("text")?.text(owner),
        false => None,
    };
    let texts = content.elements().map(text).collect::<Option<Vec<_>>>()?;
    for member in content.elements().flat_map(Raw::members) {
        if !member.is("type") && !member.is("text") {
            dropped::note(dropped, format!("messages[].content[].{}", crate::json::unescape(member.key)));
        }
    }
    Some(Text::join(&texts, "\\n"))
}

/// A plain string as JSON.
pub(crate) fn string(plain: &str) -> Json {
    let mut out = Writer::with_capacity(plain.len() + 2);
    out.string(plain);
    Json::from_valid(out.finish().into())
}
