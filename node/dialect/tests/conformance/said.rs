//! What the two sides need to be told of each other.

use trestle_dialect::{
    Dialect, Quirks,
    ir::{Event, Media, Request, Response, Text, ToolKind},
    outbound,
};

use crate::strategies::answers::{fold, stream};

/// A provider whose dialect is used to the full.
pub(crate) fn generous(dialect: Dialect) -> Quirks {
    let own = dialect == Dialect::OpenAiChat;
    Quirks { cache_control: own, echo_reasoning: own, top_k: own, ..Quirks::default() }
}

/// Whether a client of the dialect has words for what the request needs. Tools of its own vendor it has, though no
/// translation has them.
pub(crate) fn can_say(dialect: Dialect, request: &Request) -> bool {
    let foreign = request.tools.iter().any(|tool| match &tool.kind {
        ToolKind::Opaque { dialect: own, .. } => *own != dialect,
        ToolKind::Function { .. } => false,
    });
    let lacks = request.needs.and(outbound(dialect).lacks_in_translation());
    !foreign && lacks.names().all(|name| name == "server_tools")
}

/// What lies behind the URL of a picture or a document.
pub(crate) fn behind(media: &Media) -> Text {
    let is_pdf = format!("{:?}", media.source).contains(".pdf");
    Text::fixed(if is_pdf { "JVBERi0xLjQ=" } else { "iVBORw0KGgo=" })
}

/// The events of an answer.
pub(crate) fn events(response: &Response) -> Vec<Event> {
    stream(response)
}

/// The answer that events tell.
pub(crate) fn folded(events: &[Event]) -> Response {
    fold(events).unwrap()
}
