//! Takes out of a conversation that stays in this dialect what was carried in it for other vendors: the client sends
//! back the reasoning and the proofs of whoever answered before, and this vendor refuses what it did not write.

use crate::{
    Dialect, Edits, Envelope, Word, dropped,
    ir::Sealed,
    json::{Raw, Writer},
};
use bytes::Bytes;

const SELF: Dialect = Dialect::AnthropicMessages;

/// Takes it out, if there is any. Most bodies have nothing that begins like it.
pub(super) fn remove(envelope: &Envelope, edits: &mut Edits, dropped: &mut Vec<String>) {
    let messages = envelope.get("messages").filter(|_| envelope.may_have(Word::Carried));
    let Some(messages) = messages else { return };
    let owner = envelope.body();
    let mut out = Writer::with_capacity(messages.bytes().len());
    let (mut changed, mut unsigned) = (false, false);
    out.begin_array();
    for message in messages.elements() {
        let content = message.get("content");
        let carries = content.is_some_and(|content| content.elements().any(|b| foreign(b, owner).is_some()));
        changed |= carries;
        if let Some(content) = content.filter(|_| carries) {
            write_message((message, content), owner, &mut out, dropped);
        } else {
            out.raw(message.bytes());
        }
        if message.get("role").is_some_and(|role| role.is_str("assistant")) {
            unsigned = content.is_some_and(|content| begins_unsigned(content, owner));
        }
    }
    out.end_array();
    if changed {
        edits.replace(envelope, messages, out.finish().into());
    }
    let enabled = |thinking: Raw<'_>| thinking.get("type").is_some_and(|kind| kind.is_str("enabled"));
    // With a budget, calls must begin with reasoning of the vendor's own.
    if changed && unsigned && envelope.get("thinking").is_some_and(enabled) {
        edits.remove(envelope, "thinking");
        dropped::note(dropped, "thinking");
    }
}

/// What a block holds of another vendor.
fn foreign(block: Raw<'_>, owner: &Bytes) -> Option<Sealed> {
    let name = if is(block, "redacted_thinking") { "data" } else { "signature" };
    let sealed = Sealed::read(SELF, block.get(name)?.text(owner)?);
    (sealed.dialect != SELF).then_some(sealed)
}

/// Whether a block cannot stay.
fn goes(block: Raw<'_>, owner: &Bytes) -> bool {
    let thought = is(block, "thinking") || is(block, "redacted_thinking");
    thought && foreign(block, owner).is_some_and(|sealed| sealed.meant_for(SELF).is_none())
}

fn is(block: Raw<'_>, kind: &str) -> bool {
    block.get("type").is_some_and(|own| own.is_str(kind))
}

/// Whether a turn calls tools and began with a thought that goes.
fn begins_unsigned(content: Raw<'_>, owner: &Bytes) -> bool {
    content.elements().next().is_some_and(|first| goes(first, owner))
        && content.elements().any(|block| is(block, "tool_use"))
}

/// Writes a message without what goes; none at all if nothing stays.
fn write_message(
    (message, content): (Raw<'_>, Raw<'_>),
    owner: &Bytes,
    out: &mut Writer,
    dropped: &mut Vec<String>,
) {
    if content.elements().any(|block| goes(block, owner)) {
        dropped::note(dropped, "messages[].content[].thinking");
    }
    if content.elements().all(|block| goes(block, owner)) {
        return;
    }
    out.begin_object();
    for member in message.members() {
        out.key_escaped(member.key);
        if !member.is("content") {
            out.raw(member.value.bytes());
            continue;
        }
        out.begin_array();
        for block in content.elements().filter(|block| !goes(*block, owner)) {
            match foreign(block, owner) {
                None => out.raw(block.bytes()),
                Some(sealed) => write_block(block, &sealed, out, dropped),
            }
        }
        out.end_array();
    }
    out.end_object();
}

/// Writes a block with the proof as the vendor knows it, or without one.
fn write_block(block: Raw<'_>, sealed: &Sealed, out: &mut Writer, dropped: &mut Vec<String>) {
    let own = sealed.meant_for(SELF);
    if own.is_none() {
        dropped::note(dropped, "messages[].content[].signature");
    }
    let redacted = is(block, "redacted_thinking");
    out.begin_object();
    for member in block.members() {
        if !member.is(if redacted { "data" } else { "signature" }) {
            out.key_escaped(member.key);
            out.raw(member.value.bytes());
        } else if let Some(own) = own {
            out.key_escaped(member.key);
            out.text(own);
        }
    }
    out.end_object();
}
