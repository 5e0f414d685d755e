//! The frame around each chunk of a streamed answer.

use crate::{StreamContext, ir::Text, json};

/// What stands in every chunk before its choices, written once.
#[derive(Debug)]
pub(super) struct Frame {
    head: Vec<u8>,
    tail: &'static [u8],
}

impl Frame {
    /// A frame; id and model of the upstream may be empty.
    pub(super) fn new(context: &StreamContext, id: &Text, model: &Text, created: Option<u64>) -> Self {
        let mut out = json::Writer::append_to(b"data: ".to_vec());
        out.begin_object();
        out.key("id");
        match id.is_empty() {
            true => out.string(&format!("chatcmpl-{}", context.request_id)),
            false => out.text(id),
        }
        out.key("object");
        out.string("chat.completion.chunk");
        out.key("created");
        out.u64(created.unwrap_or(context.created));
        out.key("model");
        match model.is_empty() {
            true => out.string(&context.model),
            false => out.text(model),
        }
        out.key("choices");
        // A client that asked for usage finds the member in every chunk.
        let tail: &[u8] = if context.include_usage { b",\"usage\":null}\n\n" } else { b"}\n\n" };
        Self { head: out.finish(), tail }
    }

    /// A chunk with one choice; `write` fills its delta.
    pub(super) fn delta(&self, out: &mut Vec<u8>, write: impl FnOnce(&mut json::Writer)) {
        self.choice(out, None, write);
    }

    /// The chunk that says why the answer ended.
    pub(super) fn finish(&self, out: &mut Vec<u8>, reason: &'static str) {
        self.choice(out, Some(reason), |_| {});
    }

    fn choice(&self, out: &mut Vec<u8>, reason: Option<&'static str>, write: impl FnOnce(&mut json::Writer)) {
        out.extend_from_slice(&self.head);
        out.extend_from_slice(b"[{\"index\":0,\"delta\":");
        let mut writer = json::Writer::append_to(std::mem::take(out));
        writer.begin_object();
        write(&mut writer);
        writer.end_object();
        *out = writer.finish();
        out.extend_from_slice(b",\"logprobs\":null,\"finish_reason\":");
        match reason {
            Some(reason) => out.extend_from_slice(format!("\"{reason}\"").as_bytes()),
            None => out.extend_from_slice(b"null"),
        }
        out.extend_from_slice(b"}]");
        out.extend_from_slice(self.tail);
    }

    /// A chunk that tells only how likely the tokens of earlier ones were.
    pub(super) fn logprobs(&self, out: &mut Vec<u8>, write: impl FnOnce(&mut json::Writer)) {
        out.extend_from_slice(&self.head);
        out.extend_from_slice(b"[{\"index\":0,\"delta\":{},\"logprobs\":");
        let mut writer = json::Writer::append_to(std::mem::take(out));
        write(&mut writer);
        *out = writer.finish();
        out.extend_from_slice(b",\"finish_reason\":null}]");
        out.extend_from_slice(self.tail);
    }

    /// The chunk with the usage, which has no choice.
    pub(super) fn usage(&self, out: &mut Vec<u8>, write: impl FnOnce(&mut json::Writer)) {
        out.extend_from_slice(&self.head);
        out.extend_from_slice(b"[],\"usage\":");
        let mut writer = json::Writer::append_to(std::mem::take(out));
        write(&mut writer);
        *out = writer.finish();
        out.extend_from_slice(b"}\n\n");
    }
}
