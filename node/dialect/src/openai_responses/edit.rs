//! The edits that a request of this dialect needs to stay in it.

use super::output::OUR_REASONING;
use crate::{
    Edits, Envelope, Quirks, Target, Word, dropped, edit,
    ir::{Json, Text},
    json::{Kind, Member, Raw, Writer, unescape},
};

/// Begins the proof of another vendor, which a client carries for it (see `Sealed`).
const FOREIGN: &[u8] = b"\"trestle:";

/// The edits for the target, and the members that quirks took out.
pub(super) fn edit(envelope: &Envelope, target: &Target<'_>) -> (Edits, Vec<String>) {
    let (mut edits, mut dropped) = (Edits::default(), Vec::new());
    edit::model(envelope, target, &mut edits);
    items(envelope, target.quirks, &mut edits, &mut dropped);
    edit::members(envelope, target, &mut edits, &mut dropped);
    (edits, dropped)
}

/// What is to change in the items.
#[derive(Clone, Copy)]
struct Change {
    /// `developer` becomes `system`.
    roles: bool,
    /// Content of texts alone becomes one string.
    flatten: bool,
    /// What another vendor sealed or reasoned is left out, as this one would refuse it.
    foreign: bool,
}

fn items(envelope: &Envelope, quirks: &Quirks, edits: &mut Edits, dropped: &mut Vec<String>) {
    let change = Change {
        roles: !quirks.developer_role && envelope.may_have(Word::Developer),
        flatten: quirks.flatten_content,
        foreign: envelope.may_have(Word::Carried),
    };
    if !(change.roles || change.flatten || change.foreign) {
        return;
    }
    let Some(input) = envelope.get("input").filter(|input| input.kind() == Kind::Array) else { return };
    let mut out = Writer::with_capacity(input.bytes().len());
    out.begin_array();
    let mut changed = false;
    for item in input.elements() {
        changed |= write_item(item, change, &mut out, dropped);
    }
    out.end_array();
    if changed {
        edits.set(envelope, "input", Json::from_valid(out.finish().into()));
    }
}

fn is_foreign(member: &Member<'_>) -> bool {
    (member.is("signature") || member.is("encrypted_content")) && member.value.bytes().starts_with(FOREIGN)
}

/// What is lost with an item that is reasoning of another vendor.
fn foreign_reasoning(item: Raw<'_>) -> Option<&'static str> {
    item.get("type").filter(|kind| kind.is_str("reasoning"))?;
    if item.members().any(|member| is_foreign(&member)) {
        return Some("input[].encrypted_content");
    }
    let ours = item.get("id").and_then(Raw::string).is_some_and(|id| id.starts_with(OUR_REASONING));
    ours.then_some("input[].summary")
}

/// Writes an item with its changes; whether there were any.
fn write_item(item: Raw<'_>, change: Change, out: &mut Writer, dropped: &mut Vec<String>) -> bool {
    if change.foreign
        && let Some(what) = foreign_reasoning(item)
    {
        dropped::note(dropped, what);
        return true;
    }
    if item.kind() != Kind::Object {
        out.raw(item.bytes());
        return false;
    }
    let mut changed = false;
    out.begin_object();
    for member in item.members() {
        if change.foreign && is_foreign(&member) {
            dropped::note(dropped, format!("input[].{}", unescape(member.key)));
            changed = true;
            continue;
        }
        out.key_escaped(member.key);
        if change.roles && member.is("role") && member.value.is_str("developer") {
            out.string("system");
            changed = true;
        } else if (member.is("content") || member.is("output")) && member.value.kind() == Kind::Array {
            changed |= write_content(member.value, change, out, dropped);
        } else {
            out.raw(member.value.bytes());
        }
    }
    out.end_object();
    changed
}

fn write_content(content: Raw<'_>, change: Change, out: &mut Writer, dropped: &mut Vec<String>) -> bool {
    if change.flatten
        && let Some(texts) = texts(content)
    {
        for member in content.elements().flat_map(Raw::members) {
            let name = unescape(member.key);
            if !matches!(&*name, "type" | "text" | "annotations" | "logprobs") {
                dropped::note(dropped, format!("input[].content[].{name}"));
            }
        }
        out.text(&Text::join(&texts, "\\n"));
        return true;
    }
    let mut changed = false;
    out.begin_array();
    for part in content.elements() {
        if !(change.foreign && part.members().any(|member| is_foreign(&member))) {
            out.raw(part.bytes());
            continue;
        }
        changed = true;
        out.begin_object();
        for member in part.members() {
            if is_foreign(&member) {
                dropped::note(dropped, format!("input[].content[].{}", unescape(member.key)));
            } else {
                out.key_escaped(member.key);
                out.raw(member.value.bytes());
            }
        }
        out.end_object();
    }
    out.end_array();
    changed
}

/// The texts of the parts; `None` if one is not text.
fn texts(content: Raw<'_>) -> Option<Vec<Text>> {
    let text = |part: Raw<'_>| {
        let kind = part.get("type")?.string()?;
        let said = matches!(&*kind, "input_text" | "output_text" | "text");
        part.get("text")?.text(&bytes::Bytes::new()).filter(|_| said)
    };
    content.elements().map(text).collect()
}
