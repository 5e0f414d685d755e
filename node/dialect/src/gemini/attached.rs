//! Attachments of modelled objects: `generationConfig.mediaResolution` stands for a member inside of one.

use crate::{Dialect, dropped, ir::Attachment, json::Writer};

const SELF: Dialect = Dialect::Gemini;

/// Those of our own that stand inside of the object `parent`: their names in it and their values.
pub(super) fn inside<'a>(
    list: &'a [Attachment],
    parent: &'a str,
) -> impl Iterator<Item = (&'a [u8], &'a Attachment)> {
    list.iter().filter(|attachment| attachment.dialect == SELF).filter_map(move |attachment| {
        let name = attachment.name.escaped().strip_prefix(parent.as_bytes())?.strip_prefix(b".")?;
        (!name.contains(&b'.')).then_some((name, attachment))
    })
}

/// Writes those into the object, which is open.
pub(super) fn write_inside(list: &[Attachment], parent: &str, out: &mut Writer) {
    for (name, attachment) in inside(list, parent) {
        out.key_escaped(name);
        out.json(&attachment.value);
    }
}

/// Writes those of our own that stand beside the modelled members, and names what is written nowhere: all but those
/// inside of `parents`.
pub(super) fn write_beside(
    list: &[Attachment],
    parents: &[&str],
    path: &str,
    out: &mut Writer,
    dropped: &mut Vec<String>,
) {
    for attachment in list {
        let one = std::slice::from_ref(attachment);
        if !parents.iter().any(|parent| inside(one, parent).next().is_some()) {
            dropped::attachments(one, SELF, path, out, dropped);
        }
    }
}
