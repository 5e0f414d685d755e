//! A quick look at an event that is passed on as it is.

use super::super::usage;
use crate::{
    Fault, Glance, Look, fault, frame,
    ir::Usage,
    json::{Kind, Raw},
    kind::kind,
};

/// Looks at an event.
pub(in crate::openai_responses) fn glance(event: &frame::Event<'_>, look: Look) -> Glance {
    let Some(data) = event.data.as_deref() else { return Glance::default() };
    let kind = kind(event.name, data);
    match &*kind {
        b"response.completed" | b"response.incomplete" => {
            Glance { content: true, usage: read_usage(data), end: true, describes: true, ..Glance::default() }
        }
        b"error" | b"response.failed" => {
            Glance { fault: Some(read_fault(data)), describes: true, ..Glance::default() }
        }
        // Lifecycle, told before anything else.
        b"response.created" | b"response.queued" | b"response.in_progress" => {
            Glance { describes: true, ..Glance::default() }
        }
        kind => {
            let content = kind.starts_with(b"response.") && (look == Look::Meter || is_content(kind, data));
            Glance { content, ..Glance::default() }
        }
    }
}

/// Whether a reader of the answer would see something: a delta, or an item that is more than an empty shell.
fn is_content(kind: &[u8], data: &[u8]) -> bool {
    let root = || Raw::parse(data).ok();
    match kind {
        b"response.output_item.added" => {
            let item = root().and_then(|root| root.get("item"));
            let kind = item.and_then(|item| item.get("type")?.string());
            kind.is_some_and(|kind| !matches!(&*kind, "message" | "reasoning"))
        }
        b"response.output_item.done" | b"response.output_text.annotation.added" => true,
        kind if kind.ends_with(b".delta") => {
            root().and_then(|root| root.get("delta")).is_some_and(|delta| delta.bytes() != b"\"\"")
        }
        _ => false,
    }
}

/// The error of an error event, or of an answer that failed.
pub(super) fn read_fault(data: &[u8]) -> Fault {
    let response = Raw::parse(data).ok().and_then(|root| root.get("response"));
    let error =
        response.filter(|response| response.get("error").is_some_and(|error| error.kind() == Kind::Object));
    match error {
        Some(response) => fault::decode_event(response.bytes()),
        None => fault::decode_event(data),
    }
}

fn read_usage(data: &[u8]) -> Option<Usage> {
    Raw::parse(data).ok()?.get("response")?.get("usage").and_then(usage::decode)
}
