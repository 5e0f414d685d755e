//! Takes out of a conversation that stays in this dialect what was carried in its `thinking_blocks` for vendors other
//! than the one whose blocks they are: their proofs would be refused.

use super::request::THINKING;
use crate::{
    Edits, Envelope, Word, dropped,
    ir::Sealed,
    json::{Raw, Writer},
};
use bytes::Bytes;

/// Takes it out, if there is any. Most bodies have nothing that begins like it.
pub(super) fn remove(envelope: &Envelope, edits: &mut Edits, dropped: &mut Vec<String>) {
    let messages = envelope.get("messages").filter(|_| envelope.may_have(Word::Carried));
    let owner = envelope.body();
    for message in messages.into_iter().flat_map(Raw::elements) {
        let Some(list) = message.get("thinking_blocks") else { continue };
        if list.elements().all(|block| foreign(block, owner).is_none()) {
            continue;
        }
        let mut out = Writer::with_capacity(list.bytes().len());
        out.begin_array();
        for block in list.elements() {
            match foreign(block, owner) {
                None => out.raw(block.bytes()),
                Some((name, sealed)) => write_block(block, (name, &sealed), &mut out, dropped),
            }
        }
        out.end_array();
        edits.replace(envelope, list, out.finish().into());
    }
}

/// What an element holds of another vendor, and the member that it lies in.
fn foreign(block: Raw<'_>, owner: &Bytes) -> Option<(&'static str, Sealed)> {
    let redacted = block.get("type").is_some_and(|kind| kind.is_str("redacted_thinking"));
    let name = if redacted { "data" } else { "signature" };
    let sealed = Sealed::read(THINKING, block.get(name)?.text(owner)?);
    (sealed.dialect != THINKING).then_some((name, sealed))
}

/// Writes an element with the proof as its vendor knows it; without one there is no element. The text of the reasoning
/// stands in `reasoning_content` as well.
fn write_block(block: Raw<'_>, (name, sealed): (&str, &Sealed), out: &mut Writer, dropped: &mut Vec<String>) {
    let Some(own) = sealed.meant_for(THINKING) else {
        return dropped::note(dropped, "messages[].thinking_blocks");
    };
    out.begin_object();
    for member in block.members() {
        out.key_escaped(member.key);
        match member.is(name) {
            true => out.text(own),
            false => out.raw(member.value.bytes()),
        }
    }
    out.end_object();
}
