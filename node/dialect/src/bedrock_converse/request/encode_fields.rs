//! Writes `additionalModelRequestFields`: what only some models take, in their vendors' own words.

use super::{
    encode_tools::Offer,
    fields::{PARENT, STOP_SEQUENCE_PATHS, inside},
    reasoning::{Asked, member_path},
};
use crate::{
    Dialect,
    anthropic_messages::Thinking,
    bedrock_converse::family::Family,
    body::Body,
    dropped,
    ir::{Attachment, Request, ToolChoice},
    json::Writer,
};

const SELF: Dialect = Dialect::BedrockConverse;

/// Writes them, if there are any.
pub(super) fn write_fields(
    body: &mut Body<'_>,
    request: &Request,
    asked: &Asked,
    (family, offer): (Family, &Offer<'_>),
) {
    let mut out = Writer::with_capacity(128);
    out.begin_object();
    write_reasoning(&mut out, request, asked, &mut body.dropped);
    if let Some(top_k) = &request.sampling.top_k {
        match family {
            Family::Claude if !asked.thinks() => {
                out.key("top_k");
                out.json(top_k);
            }
            Family::Nova | Family::Nova2 if *asked != Asked::Nova("high") => {
                out.key("inferenceConfig");
                out.begin_object();
                out.key("topK");
                out.json(top_k);
                out.end_object();
            }
            _ => body.drop("top_k"),
        }
    }
    if let Some((choice, one_at_a_time)) = offer.claude_choice() {
        out.key("tool_choice");
        write_choice(&mut out, choice, one_at_a_time);
    }
    for attachment in request.attachments.iter().filter(|attachment| attachment.dialect == SELF) {
        if let Some(name) = inside(&attachment.name.plain()) {
            out.key(name);
            out.json(&attachment.value);
        }
    }
    out.end_object();
    let fields = out.finish();
    if fields != b"{}" && body.member(PARENT) {
        body.out.raw(&fields);
    }
}

fn write_reasoning(out: &mut Writer, request: &Request, asked: &Asked, dropped: &mut Vec<String>) {
    let thinking = match asked {
        Asked::Claude(thinking) => thinking,
        Asked::Nova(effort) => {
            out.key("reasoningConfig");
            out.begin_object();
            out.key("type");
            out.string("enabled");
            out.key("maxReasoningEffort");
            out.string(effort);
            return out.end_object();
        }
        Asked::Gpt(effort) => {
            out.key("reasoning_effort");
            return out.text(effort);
        }
        Asked::Nothing | Asked::Effort(_) => return,
    };
    let kind = match thinking {
        Thinking::Unsaid | Thinking::Impossible => return,
        Thinking::Disabled => "disabled",
        Thinking::Budget(_) => "enabled",
        Thinking::Adaptive(_) => "adaptive",
    };
    out.key("thinking");
    out.begin_object();
    out.key("type");
    out.string(kind);
    if let Thinking::Budget(budget) = thinking {
        out.key("budget_tokens");
        out.u64(*budget);
    }
    for attachment in request.reasoning.iter().flat_map(|reasoning| &reasoning.attachments) {
        // The same words wherever the model runs.
        let own = matches!(attachment.dialect, Dialect::AnthropicMessages | Dialect::BedrockConverse);
        if own {
            out.key_escaped(attachment.name.escaped());
            out.json(&attachment.value);
        } else {
            dropped::note(dropped, member_path(attachment));
        }
    }
    out.end_object();
}

fn write_choice(out: &mut Writer, choice: &ToolChoice, one_at_a_time: OneAtATime) {
    out.begin_object();
    out.key("type");
    out.string(match choice {
        ToolChoice::Auto | ToolChoice::Opaque(..) => "auto",
        ToolChoice::None => "none",
        ToolChoice::Required => "any",
        ToolChoice::Named(_) => "tool",
    });
    if let ToolChoice::Named(name) = choice {
        out.key("name");
        out.text(name);
    }
    if one_at_a_time == OneAtATime::Yes && *choice != ToolChoice::None {
        out.key("disable_parallel_tool_use");
        out.bool(true);
    }
    out.end_object();
}

/// Whether only one tool may be called at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OneAtATime {
    Yes,
    No,
}

/// Models of Anthropic name the stop text that was hit only if they are asked to.
pub(super) fn write_response_paths(body: &mut Body<'_>, request: &Request, family: Family) {
    const NAME: &str = "additionalModelResponseFieldPaths";
    let own = |attachment: &Attachment| attachment.dialect == SELF && attachment.name.is(NAME);
    let said = request.attachments.iter().any(own);
    if family != Family::Claude || request.stop.is_empty() || said || !body.member(NAME) {
        return;
    }
    body.out.begin_array();
    STOP_SEQUENCE_PATHS.iter().for_each(|path| body.out.string(path));
    body.out.end_array();
}
