//! The edits that a request of this dialect needs to stay in it.

use super::carried;
use crate::{
    Edits, Envelope, MaxTokensMember, Target, Word, dropped, edit,
    ir::Json,
    json::{Raw, Writer},
};

/// The edits for the target, and the members that quirks took out.
pub(super) fn edit(envelope: &Envelope, target: &Target<'_>) -> (Edits, Vec<String>) {
    let (mut edits, mut dropped) = (Edits::default(), Vec::new());
    let quirks = target.quirks;
    edit::model(envelope, target, &mut edits);
    stream_usage(envelope, target, &mut edits, &mut dropped);
    match quirks.max_tokens_member {
        MaxTokensMember::MaxTokens => {
            rename_limit(envelope, "max_completion_tokens", "max_tokens", &mut edits);
        }
        MaxTokensMember::AsSent if !target.wants_max_completion_tokens => {}
        MaxTokensMember::AsSent | MaxTokensMember::MaxCompletionTokens => {
            rename_limit(envelope, "max_tokens", "max_completion_tokens", &mut edits);
        }
    }
    carried::remove(envelope, &mut edits, &mut dropped);
    if !quirks.developer_role {
        developer_to_system(envelope, &mut edits);
    }
    if quirks.flatten_content {
        edit::flatten(envelope, &mut edits, &mut dropped);
    }
    edit::members(envelope, target, &mut edits, &mut dropped);
    (edits, dropped)
}

/// Usage is always asked for where the provider can tell it: the meter needs it, the relay cuts it out again.
fn stream_usage(envelope: &Envelope, target: &Target<'_>, edits: &mut Edits, dropped: &mut Vec<String>) {
    let options = envelope.get("stream_options").filter(|options| !options.is_null());
    if !target.quirks.stream_usage {
        if options.is_some() {
            edits.remove(envelope, "stream_options");
            dropped::note(dropped, "stream_options");
        }
        return;
    }
    let streams = envelope.get("stream").and_then(Raw::bool) == Some(true);
    let include = options.and_then(|options| options.get("include_usage"));
    if !streams || include.and_then(Raw::bool) == Some(true) {
        return;
    }
    let mut out = Writer::with_capacity(64);
    out.begin_object();
    for member in options.iter().flat_map(|options| options.members()) {
        if !member.is("include_usage") {
            out.key_escaped(member.key);
            out.raw(member.value.bytes());
        }
    }
    out.key("include_usage");
    out.bool(true);
    out.end_object();
    edits.set(envelope, "stream_options", Json::from_valid(out.finish().into()));
}

/// The limit under the other name. Where the client set both, the one that the provider knows stays as it is.
fn rename_limit(envelope: &Envelope, from: &str, to: &str, edits: &mut Edits) {
    if envelope.get(to).is_some_and(|limit| !limit.is_null()) {
        edits.remove(envelope, from);
    } else {
        edits.rename(envelope, from, to);
    }
}

fn developer_to_system(envelope: &Envelope, edits: &mut Edits) {
    if !envelope.may_have(Word::Developer) {
        return;
    }
    for message in envelope.get("messages").into_iter().flat_map(Raw::elements) {
        if let Some(role) = message.get("role").filter(|role| role.is_str("developer")) {
            edits.replace(envelope, role, bytes::Bytes::from_static(b"\"system\""));
        }
    }
}
