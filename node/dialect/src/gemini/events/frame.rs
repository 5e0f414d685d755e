//! The frame around each event of a streamed answer.

use super::super::response::write_head;
use crate::{StreamContext, ir::Text, json::Writer};

/// What stands behind the candidate in every event, written once.
#[derive(Debug)]
pub(super) struct Frame {
    /// Begins with its comma and closes the event.
    tail: Vec<u8>,
}

impl Frame {
    /// A frame; id and model of the upstream may be empty.
    pub(super) fn new(context: &StreamContext, id: &Text, model: &Text) -> Self {
        let mut out = Writer::with_capacity(128);
        out.begin_object();
        write_head(&mut out, (id, model), context);
        out.end_object();
        let mut tail = out.finish();
        if let Some(first) = tail.first_mut() {
            *first = b',';
        }
        tail.extend_from_slice(b"\n\n");
        Self { tail }
    }

    /// An event with these parts; `more` writes the members of the candidate behind them and `last` those of the
    /// answer behind its candidates.
    pub(super) fn event(
        &self,
        out: &mut Vec<u8>,
        parts: impl FnOnce(&mut Writer),
        more: impl FnOnce(&mut Writer),
        last: impl FnOnce(&mut Writer),
    ) {
        out.extend_from_slice(b"data: ");
        let mut writer = Writer::append_to(std::mem::take(out));
        writer.begin_object();
        writer.key("candidates");
        writer.begin_array();
        writer.begin_object();
        writer.key("content");
        writer.begin_object();
        writer.key("parts");
        writer.begin_array();
        parts(&mut writer);
        writer.end_array();
        writer.key("role");
        writer.string("model");
        writer.end_object();
        writer.key("index");
        writer.u64(0);
        more(&mut writer);
        writer.end_object();
        writer.end_array();
        last(&mut writer);
        *out = writer.finish();
        out.extend_from_slice(&self.tail);
    }

    /// An event with one part.
    pub(super) fn part(&self, out: &mut Vec<u8>, part: impl FnOnce(&mut Writer)) {
        let object = |out: &mut Writer| {
            out.begin_object();
            part(out);
            out.end_object();
        };
        self.event(out, object, |_| {}, |_| {});
    }
}
