//! What the members of one dialect are worth in another: a few mean the same, a few cannot be left out, the rest is named.

use crate::{
    Dialect, Refusal, RefusalKind,
    ir::{Attachment, BlockKind, Features, Request, ToolKind},
};
use std::borrow::Cow;

/// Top-level members that mean the same in both dialects of OpenAI: their names in Chat and in Responses.
const SHARED: [(&str, &str); 9] = [
    ("metadata", "metadata"),
    ("moderation", "moderation"),
    ("prompt_cache_key", "prompt_cache_key"),
    ("prompt_cache_options", "prompt_cache_options"),
    ("prompt_cache_retention", "prompt_cache_retention"),
    ("safety_identifier", "safety_identifier"),
    ("service_tier", "service_tier"),
    ("store", "store"),
    ("verbosity", "text.verbosity"),
];

/// Members of OpenAI Responses that refer to what only its vendor keeps, or would have to be kept here.
const STATE: [(&str, &str); 4] = [
    ("background", "asks for an answer that is fetched later, which only OpenAI Responses has"),
    ("conversation", KEPT),
    ("previous_response_id", KEPT),
    ("prompt", "refers to a prompt that only its vendor keeps: send the prompt itself"),
];

const KEPT: &str = "refers to a conversation that only its vendor keeps: send the conversation in `input`";

const REFERENCE: &str = "`input` refers to an item that only its vendor keeps: send the item itself, as clients do that are told not to \
                         store answers (`store: false`)";

/// The name of a top-level member of a request in this dialect. `None` where it means nothing there.
pub(crate) fn name_in(attachment: &Attachment, dialect: Dialect) -> Option<Cow<'_, str>> {
    let name = attachment.name.plain();
    let find = |from: fn(&(&'static str, &'static str)) -> &'static str| {
        SHARED.iter().find(|pair| from(pair) == name)
    };
    match (attachment.dialect, dialect) {
        (from, to) if from == to => Some(name),
        (Dialect::OpenAiChat, Dialect::OpenAiResponses) => find(|pair| pair.0).map(|pair| pair.1.into()),
        (Dialect::OpenAiResponses, Dialect::OpenAiChat) => find(|pair| pair.1).map(|pair| pair.0.into()),
        _ => None,
    }
}

/// Whether a top-level member of an answer means the same in this dialect.
pub(crate) fn answers_alike(attachment: &Attachment, dialect: Dialect) -> bool {
    let both = same_vendor(attachment.dialect, dialect);
    attachment.dialect == dialect || (both && attachment.name.is("service_tier"))
}

/// Whether files that lie with the vendor of one dialect are known in the other.
pub(crate) fn same_vendor(one: Dialect, other: Dialect) -> bool {
    let openai = |dialect| matches!(dialect, Dialect::OpenAiChat | Dialect::OpenAiResponses);
    one == other || (openai(one) && openai(other))
}

/// Refuses a request that refers to what only another dialect's vendor keeps.
pub(crate) fn refuse_state(request: &Request, own: Dialect) -> Result<(), Refusal> {
    if own == Dialect::OpenAiResponses {
        return Ok(());
    }
    for attachment in request.attachments.iter().filter(|a| a.dialect == Dialect::OpenAiResponses) {
        if let Some((name, what)) = STATE.iter().find(|(name, _)| attachment.name.is(name)) {
            return Err(Refusal::invalid(*name, format!("`{name}` {what}")));
        }
    }
    let mut blocks = request.messages.iter().flat_map(|message| &message.blocks);
    if blocks.any(|block| is_reference(&block.kind)) {
        return Err(Refusal::invalid("input", REFERENCE));
    }
    Ok(())
}

/// Whether a block stands for an item that only the vendor of OpenAI Responses keeps.
fn is_reference(kind: &BlockKind) -> bool {
    matches!(kind, BlockKind::Opaque { dialect: Dialect::OpenAiResponses, json } if json.type_name() == "item_reference")
}

/// Refuses a request that needs what this dialect lacks; its own server tools it has.
pub(crate) fn refuse_needs(request: &Request, own: Dialect, lacks: Features) -> Result<(), Refusal> {
    let lacking = request.needs.and(lacks);
    if lacking.is_empty() {
        return Ok(());
    }
    let own_tools = request.tools.iter().all(|tool| match tool.kind {
        ToolKind::Opaque { dialect, .. } => dialect == own,
        ToolKind::Function { .. } => true,
    });
    let foreign = request.attachments.iter().any(|attachment| attachment.dialect != own);
    if lacking == Features::SERVER_TOOLS && own_tools && !foreign {
        return Ok(());
    }
    let names = lacking.names().collect::<Vec<_>>().join(", ");
    let what = format!("the request needs what {} lacks: {names}", own.name());
    Err(Refusal::new(RefusalKind::InvalidRequest, what))
}
