//! Writes the top level of a request.

use super::encode_items::write_items;
use crate::{
    Dialect, Encoded, Refusal, Target,
    body::Body,
    dropped, foreign,
    ir::{
        Attachment, BlockKind, Features, Message, OutputFormat, Reasoning, Request, Role, Text, Tool,
        ToolChoice, ToolKind,
    },
    json::unescape,
};

const SELF: Dialect = Dialect::OpenAiResponses;

/// What no target of this dialect can do and nobody would want left out.
pub(in crate::openai_responses) const LACKS: Features = Features::CHOICES
    .with(Features::GUARDRAILS)
    .with(Features::AUDIO)
    .with(Features::VIDEO)
    .with(Features::AUDIO_OUTPUT)
    .with(Features::IMAGE_OUTPUT)
    .with(Features::SERVER_TOOLS);

/// The name that a schema gets where the client's dialect has none and this one demands one.
const SCHEMA_NAME: &str = "answer";

/// The least output limit that the vendor accepts, in tokens.
const MAX_TOKENS_MIN: u64 = 16;

/// The longest name of an end user that the vendor accepts.
const USER_CHARS_MAX: usize = 64;

/// Writes a request.
pub(in crate::openai_responses) fn encode(
    request: &Request,
    target: &Target<'_>,
) -> Result<Encoded, Refusal> {
    foreign::refuse_needs(request, SELF, LACKS)?;
    let mut body = Body::new(target, 4096);
    let instructions = instructions(&request.messages, target);
    if let Some((message, text)) = instructions
        && body.member("instructions")
    {
        body.out.text(text);
        note_instructions(&mut body, message);
    }
    if body.member("input") {
        write_items(&mut body, &request.messages, usize::from(instructions.is_some()))?;
    }
    if request.stream && body.member("stream") {
        body.out.bool(true);
    }
    write_limits(&mut body, request);
    write_tools(&mut body, request)?;
    write_text(&mut body, request);
    if let Some(reasoning) = &request.reasoning {
        write_reasoning(&mut body, reasoning);
    }
    write_include(&mut body, request);
    write_user(&mut body, request);
    write_store(&mut body, request);
    for attachment in &request.attachments {
        write_attachment(&mut body, attachment);
    }
    Ok(body.finish())
}

/// The message that becomes `instructions`: the first one, where it is one plain text of the operator and something
/// follows. Others stand in the input.
fn instructions<'r>(messages: &'r [Message], target: &Target<'_>) -> Option<(&'r Message, &'r Text)> {
    let (first, rest) = messages.split_first()?;
    let (Role::System, [block]) = (first.role, first.blocks.as_slice()) else { return None };
    let marked = block.cache.is_some() && target.quirks.cache_control;
    let own = |attachment: &Attachment| attachment.dialect == SELF;
    if rest.is_empty() || marked || block.attachments.iter().chain(&first.attachments).any(own) {
        return None;
    }
    match &block.kind {
        BlockKind::Text(text) if !text.is_empty() => Some((first, text)),
        _ => None,
    }
}

/// Names what instructions cannot hold.
fn note_instructions(body: &mut Body<'_>, message: &Message) {
    for block in &message.blocks {
        dropped::bare(block, "system[].", &mut body.dropped);
    }
    if message.name.is_some() {
        body.drop("messages[].name");
    }
    for attachment in &message.attachments {
        body.drop(format!("messages[].{}", attachment.name.plain()));
    }
}

fn write_limits(body: &mut Body<'_>, request: &Request) {
    if let Some(tokens) = request.max_tokens {
        if tokens < MAX_TOKENS_MIN {
            body.drop("max_tokens");
        }
        if body.member("max_output_tokens") {
            body.out.u64(tokens.max(MAX_TOKENS_MIN));
        }
    }
    let sampling = &request.sampling;
    for (name, number) in [("temperature", &sampling.temperature), ("top_p", &sampling.top_p)] {
        if let Some(number) = number
            && body.member(name)
        {
            body.out.json(number);
        }
    }
    let others = [
        ("top_k", &sampling.top_k),
        ("frequency_penalty", &sampling.frequency_penalty),
        ("presence_penalty", &sampling.presence_penalty),
        ("seed", &sampling.seed),
    ];
    for (name, number) in others {
        // A penalty of 0 is none.
        let penalty = name.ends_with("penalty");
        if number.as_ref().is_some_and(|number| !penalty || number.raw().f64() != Some(0.0)) {
            body.drop(name);
        }
    }
    if !request.stop.is_empty() {
        body.drop("stop");
    }
    if let Some(top) = request.logprobs.filter(|top| *top > 0)
        && body.member("top_logprobs")
    {
        body.out.u64(top);
    }
}

fn write_tools(body: &mut Body<'_>, request: &Request) -> Result<(), Refusal> {
    if request.tools.is_empty() {
        // Without tools a choice has no meaning.
        if request.tool_choice.as_ref().is_some_and(|choice| *choice != ToolChoice::None) {
            body.drop("tool_choice");
        }
        return Ok(());
    }
    if body.member("tools") {
        body.out.begin_array();
        for (i, tool) in request.tools.iter().enumerate() {
            write_tool(body, tool, i)?;
        }
        body.out.end_array();
    }
    body.openai_choice(request, SELF, |out, name| {
        out.key("name");
        out.text(name);
    });
    Ok(())
}

/// Where nothing is said, this dialect is strict and the others are not.
fn write_tool(body: &mut Body<'_>, tool: &Tool, index: usize) -> Result<(), Refusal> {
    let ToolKind::Function { name, description, parameters, strict } = &tool.kind else {
        return body.own_tool(&tool.kind, index, SELF);
    };
    let out = &mut body.out;
    out.begin_object();
    out.key("type");
    out.string("function");
    out.key("name");
    out.text(name);
    if let Some(description) = description {
        out.key("description");
        out.text(description);
    }
    out.key("parameters");
    match parameters {
        Some(parameters) => out.json(parameters),
        None => out.raw(br#"{"type":"object","properties":{}}"#),
    }
    out.key("strict");
    out.bool(strict.unwrap_or(false));
    if let Some(cache) = &tool.cache {
        if body.target.quirks.cache_control {
            out.key("cache_control");
            out.json(cache);
        } else {
            dropped::note(&mut body.dropped, "tools[].cache_control");
        }
    }
    dropped::attachments(&tool.attachments, SELF, "tools[].", &mut body.out, &mut body.dropped);
    body.out.end_object();
    Ok(())
}

/// `text`: the form of the answer, and members of it that are not modelled.
fn write_text(body: &mut Body<'_>, request: &Request) {
    let inside = |attachment: &Attachment| {
        foreign::name_in(attachment, SELF).is_some_and(|name| name.starts_with("text."))
    };
    let members = request.attachments.iter().filter(|attachment| inside(attachment));
    if (request.output.is_none() && members.clone().next().is_none()) || !body.member("text") {
        return;
    }
    body.out.begin_object();
    if let Some(output) = &request.output {
        body.out.key("format");
        write_format(body, output);
    }
    for attachment in members {
        let name = foreign::name_in(attachment, SELF).unwrap_or_default();
        body.out.key(name.trim_start_matches("text."));
        body.out.json(&attachment.value);
    }
    body.out.end_object();
}

fn write_format(body: &mut Body<'_>, output: &OutputFormat) {
    let out = &mut body.out;
    out.begin_object();
    out.key("type");
    match output {
        OutputFormat::Text => out.string("text"),
        OutputFormat::JsonObject => out.string("json_object"),
        OutputFormat::JsonSchema { name, description, schema, strict } => {
            out.string("json_schema");
            out.key("name");
            match name {
                Some(name) => out.text(name),
                None => out.string(SCHEMA_NAME),
            }
            if let Some(description) = description {
                out.key("description");
                out.text(description);
            }
            out.key("schema");
            out.json(schema);
            if let Some(strict) = strict {
                out.key("strict");
                out.bool(*strict);
            }
        }
    }
    out.end_object();
}

/// Who asks for reasoning in another dialect sees it, which takes a summary here. Switching it off has a word (`none`)
/// that only some models know: it is left out and named.
fn write_reasoning(body: &mut Body<'_>, reasoning: &Reasoning) {
    let own = |attachment: &Attachment| attachment.dialect == SELF;
    if !reasoning.enabled {
        body.drop("thinking");
    }
    if (!reasoning.enabled && !reasoning.attachments.iter().any(own)) || !body.member("reasoning") {
        for attachment in &reasoning.attachments {
            body.drop(format!("thinking.{}", attachment.name.plain()));
        }
        return;
    }
    body.out.begin_object();
    if reasoning.enabled {
        let mut effort = reasoning.effort_word();
        if effort.is("max") {
            // Above what most models of this dialect know.
            effort = Text::fixed("high");
            body.drop("output_config.effort");
        }
        body.out.key("effort");
        body.out.text(&effort);
        if !reasoning.attachments.iter().any(|attachment| own(attachment) && attachment.name.is("summary")) {
            body.out.key("summary");
            body.out.string("auto");
        }
    }
    let list = &reasoning.attachments;
    dropped::attachments(list, SELF, "thinking.", &mut body.out, &mut body.dropped);
    body.out.end_object();
}

/// What the answer must hold besides: reasoning as the client can carry it, since nothing is stored, and log
/// probabilities.
fn write_include(body: &mut Body<'_>, request: &Request) {
    let reasoning = request.reasoning.as_ref().is_some_and(|reasoning| reasoning.enabled);
    let is_include = |attachment: &&Attachment| attachment.dialect == SELF && attachment.name.is("include");
    let own = request.attachments.iter().find(is_include);
    if (!reasoning && request.logprobs.is_none() && own.is_none()) || !body.member("include") {
        return;
    }
    body.out.begin_array();
    if reasoning {
        body.out.string("reasoning.encrypted_content");
    }
    if request.logprobs.is_some() {
        body.out.string("message.output_text.logprobs");
    }
    own.into_iter().flat_map(|own| own.value.raw().elements()).for_each(|what| body.out.raw(what.bytes()));
    body.out.end_array();
}

fn write_user(body: &mut Body<'_>, request: &Request) {
    match &request.user {
        Some(user) if user.plain().chars().count() > USER_CHARS_MAX => body.drop("user"),
        Some(user) if body.member("user") => body.out.text(user),
        _ => {}
    }
}

/// The vendor stores answers unless it is told not to, and clients of other dialects do not expect it.
fn write_store(body: &mut Body<'_>, request: &Request) {
    let asked = |attachment: &Attachment| {
        foreign::name_in(attachment, SELF).is_some_and(|name| name == "store")
            && attachment.value.raw().bool() == Some(true)
    };
    if body.member("store") {
        body.out.bool(request.attachments.iter().any(asked));
    }
}

fn write_attachment(body: &mut Body<'_>, attachment: &Attachment) {
    let own = foreign::name_in(attachment, SELF);
    let name = attachment.name.plain();
    match own.as_deref() {
        // Written already.
        Some("store" | "include") => {}
        Some(own) if own.starts_with("text.") => {}
        // The one value that means the same to all vendors.
        None if name == "service_tier" && attachment.value.raw().is_str("auto") => {
            if body.member("service_tier") {
                body.out.string("auto");
            }
        }
        // Usage comes with every stream here.
        None if name == "stream_options" => {
            for member in attachment.value.raw().members().filter(|member| !member.is("include_usage")) {
                body.drop(format!("stream_options.{}", unescape(member.key)));
            }
        }
        _ => body.attachment(attachment, SELF),
    }
}
