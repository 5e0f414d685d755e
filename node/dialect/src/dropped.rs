//! What could not be expressed: a short list of paths, each once.

use crate::{
    Dialect, foreign,
    ir::{Attachment, Block},
    json::Writer,
};

/// More entries than this say nothing more to anyone, and the list ends up in a header.
const ENTRIES_MAX: usize = 64;

/// Adds a path. Paths hold no indexes, so that a long conversation names each kind of loss once.
pub(crate) fn note(dropped: &mut Vec<String>, path: impl AsRef<str>) {
    let path = path.as_ref();
    if dropped.len() < ENTRIES_MAX && !dropped.iter().any(|known| known == path) {
        dropped.push(path.to_owned());
    }
}

/// Writes the attachments of this dialect into the object that is open; names those of others below `parent`.
/// Names with a dot stand for members inside of a modelled object and are only named.
pub(crate) fn attachments(
    list: &[Attachment],
    dialect: Dialect,
    parent: &str,
    out: &mut Writer,
    dropped: &mut Vec<String>,
) {
    for attachment in list {
        if attachment.dialect == dialect && !attachment.name.escaped().contains(&b'.') {
            out.key_escaped(attachment.name.escaped());
            out.json(&attachment.value);
        } else {
            note(dropped, format!("{parent}{}", attachment.name.plain()));
        }
    }
}

/// Writes the members of an answer that are not modelled and of this dialect, or mean the same in it; names the others.
pub(crate) fn members(list: &[Attachment], dialect: Dialect, out: &mut Writer, dropped: &mut Vec<String>) {
    for attachment in list {
        if foreign::answers_alike(attachment, dialect) && !attachment.name.escaped().contains(&b'.') {
            out.key_escaped(attachment.name.escaped());
            out.json(&attachment.value);
        } else {
            note(dropped, attachment.name.plain());
        }
    }
}

/// Names what is attached to a block that is written as bare text.
pub(crate) fn bare(block: &Block, parent: &str, dropped: &mut Vec<String>) {
    if block.cache.is_some() {
        note(dropped, format!("{parent}cache_control"));
    }
    for attachment in &block.attachments {
        note(dropped, format!("{parent}{}", attachment.name.plain()));
    }
}

/// Names the citations of a block where it can have none.
pub(crate) fn citations(block: &Block, parent: &str, dropped: &mut Vec<String>) {
    if !block.citations.is_empty() {
        note(dropped, format!("{parent}citations"));
    }
}

/// Names the proof of a block where it can have none.
pub(crate) fn signature(block: &Block, parent: &str, dropped: &mut Vec<String>) {
    if block.signature.is_some() {
        note(dropped, format!("{parent}signature"));
    }
}
