//! The proofs of Gemini's models, in the place where Google's own Chat endpoint has them: on tool calls, and on the
//! message for its text (`extra_content.google.thought_signature`). Others have no place in this dialect but
//! `thinking_blocks`.

use crate::{
    Dialect, dropped,
    ir::{Attachment, Sealed, Text},
    json::{Member, Raw, Writer},
    read,
};
use bytes::Bytes;

/// Whose proofs stand there.
const VENDOR: Dialect = Dialect::Gemini;

/// Reads an `extra_content`. What else is in it is kept to be named.
pub(super) fn read(member: &Member<'_>, owner: &Bytes, rest: &mut Vec<Attachment>) -> Option<Sealed> {
    let mut proof = None;
    for vendor in member.value.members() {
        for inner in vendor.value.members() {
            if vendor.is("google") && inner.is("thought_signature") {
                proof = inner.value.text(owner).filter(|text| !text.is_empty());
            } else {
                read::attach_inner(rest, Dialect::OpenAiChat, "extra_content", &inner, owner);
            }
        }
    }
    proof.map(|text| Sealed::read(VENDOR, text))
}

/// Reads the proof alone, of a piece of a stream.
pub(super) fn find(extra_content: Raw<'_>, owner: &Bytes) -> Option<Sealed> {
    let text = extra_content.get("google")?.get("thought_signature")?.text(owner)?;
    (!text.is_empty()).then(|| Sealed::read(VENDOR, text))
}

/// The proof as it is written here; one that has no place is named.
pub(super) fn own<'s>(
    signature: Option<&'s Sealed>,
    parent: &str,
    dropped: &mut Vec<String>,
) -> Option<&'s Text> {
    let signature = signature?;
    let own = signature.meant_for(VENDOR);
    if own.is_none() {
        dropped::note(dropped, format!("{parent}signature"));
    }
    own
}

/// Writes the member into the call or message that is open.
pub(super) fn write(proof: &Text, out: &mut Writer) {
    out.key("extra_content");
    out.begin_object();
    out.key("google");
    out.begin_object();
    out.key("thought_signature");
    out.text(proof);
    out.end_object();
    out.end_object();
}
