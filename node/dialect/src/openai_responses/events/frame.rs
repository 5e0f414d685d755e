//! The frame around each event: its name, its type, its number, and what it happens to.

use crate::json::Writer;

/// Counts the events.
#[derive(Debug, Default)]
pub(super) struct Frame {
    next: u64,
}

impl Frame {
    /// An event of this name; `write` fills the object behind its number.
    pub(super) fn event(&mut self, out: &mut Vec<u8>, name: &str, write: impl FnOnce(&mut Writer)) {
        out.extend_from_slice(b"event: ");
        out.extend_from_slice(name.as_bytes());
        out.extend_from_slice(b"\ndata: ");
        let mut writer = Writer::append_to(std::mem::take(out));
        writer.begin_object();
        writer.key("type");
        writer.string(name);
        writer.key("sequence_number");
        writer.u64(self.next);
        write(&mut writer);
        writer.end_object();
        *out = writer.finish();
        out.extend_from_slice(b"\n\n");
        self.next += 1;
    }
}

/// The place of a part: its item, and its number in it.
pub(super) type At = (usize, usize);

/// Where in an item something happens, and to which.
pub(super) type Event<'a, Place> = (&'static str, Place, &'a str);

/// An event of an item.
pub(super) fn item_event(
    frame: &mut Frame,
    out: &mut Vec<u8>,
    (name, item, id): Event<'_, usize>,
    write: impl FnOnce(&mut Writer),
) {
    frame.event(out, name, |out| {
        out.key("item_id");
        out.string(id);
        out.key("output_index");
        out.u64(position(item));
        write(out);
    });
}

/// An event of a part of a message.
pub(super) fn part_event(
    frame: &mut Frame,
    out: &mut Vec<u8>,
    (name, (item, part), id): Event<'_, At>,
    write: impl FnOnce(&mut Writer),
) {
    item_event(frame, out, (name, item, id), |out| {
        out.key("content_index");
        out.u64(position(part));
        write(out);
    });
}

/// An event of reasoning, all of which is one part.
pub(super) fn summary_event(
    frame: &mut Frame,
    out: &mut Vec<u8>,
    event: Event<'_, usize>,
    write: impl FnOnce(&mut Writer),
) {
    item_event(frame, out, event, |out| {
        out.key("summary_index");
        out.u64(0);
        write(out);
    });
}

/// An index on the wire.
pub(super) fn position(index: usize) -> u64 {
    u64::try_from(index).unwrap_or(u64::MAX)
}
