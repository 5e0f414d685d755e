//! Writes the top level of a request.

use super::encode_messages::write_messages;
use crate::{
    Dialect, Encoded, MaxTokensMember, Refusal, Target,
    body::Body,
    dropped, foreign,
    ir::{Attachment, OutputFormat, Reasoning, Request, Tool, ToolKind},
};

const SELF: Dialect = Dialect::OpenAiChat;

/// Most stop texts that the vendor takes.
const STOPS_MAX: usize = 4;

/// The name that a schema gets where the client's dialect has none and this one demands one.
const SCHEMA_NAME: &str = "answer";

/// Writes a request.
pub(in crate::openai_chat) fn encode(request: &Request, target: &Target<'_>) -> Result<Encoded, Refusal> {
    foreign::refuse_state(request, SELF)?;
    let mut body = Body::new(target, 4096);
    if body.member("messages") {
        write_messages(&mut body, &request.messages)?;
    }
    if request.stream {
        write_stream(&mut body, request);
    }
    write_numbers(&mut body, request);
    let stops = body.stops(request.stop.iter(), STOPS_MAX);
    if !stops.is_empty() && body.member("stop") {
        body.out.begin_array();
        stops.into_iter().for_each(|text| body.out.text(text));
        body.out.end_array();
    }
    write_tools(&mut body, request)?;
    if let Some(output) = &request.output {
        write_output(&mut body, output);
    }
    if let Some(reasoning) = &request.reasoning {
        write_reasoning(&mut body, reasoning);
    }
    if let Some(user) = &request.user
        && body.member("user")
    {
        body.out.text(user);
    }
    if let Some(top) = request.logprobs {
        write_logprobs(&mut body, top);
    }
    for attachment in &request.attachments {
        write_attachment(&mut body, attachment);
    }
    Ok(body.finish())
}

fn write_stream(body: &mut Body<'_>, request: &Request) {
    if body.member("stream") {
        body.out.bool(true);
    }
    if !body.target.quirks.stream_usage || !body.member("stream_options") {
        return;
    }
    body.out.begin_object();
    let own = request.attachments.iter().find(|a| a.dialect == SELF && a.name.is("stream_options"));
    for member in own.iter().flat_map(|own| own.value.raw().members()) {
        if !member.is("include_usage") {
            body.out.key_escaped(member.key);
            body.out.raw(member.value.bytes());
        }
    }
    body.out.key("include_usage");
    body.out.bool(true);
    body.out.end_object();
}

fn write_numbers(body: &mut Body<'_>, request: &Request) {
    if let Some(tokens) = request.max_tokens {
        let wants_new = body.target.wants_max_completion_tokens;
        let name = match body.target.quirks.max_tokens_member {
            MaxTokensMember::MaxCompletionTokens => "max_completion_tokens",
            MaxTokensMember::AsSent if wants_new => "max_completion_tokens",
            MaxTokensMember::AsSent | MaxTokensMember::MaxTokens => "max_tokens",
        };
        if body.member(name) {
            body.out.u64(tokens);
        }
    }
    let sampling = &request.sampling;
    let numbers = [
        ("temperature", &sampling.temperature),
        ("top_p", &sampling.top_p),
        ("top_k", &sampling.top_k),
        ("frequency_penalty", &sampling.frequency_penalty),
        ("presence_penalty", &sampling.presence_penalty),
        ("seed", &sampling.seed),
    ];
    for (name, number) in numbers {
        match number {
            // Many compatible providers take it, OpenAI itself does not: only where the row of the provider says so.
            Some(_) if name == "top_k" && !body.target.quirks.top_k => body.drop(name),
            Some(number) if body.member(name) => body.out.json(number),
            _ => {}
        }
    }
}

fn write_logprobs(body: &mut Body<'_>, top: u64) {
    if body.member("logprobs") {
        body.out.bool(true);
    }
    if top > 0 && body.member("top_logprobs") {
        body.out.u64(top);
    }
}

fn write_tools(body: &mut Body<'_>, request: &Request) -> Result<(), Refusal> {
    if request.tools.is_empty() {
        // Refused by the vendor where there are no tools, and without meaning.
        if request.tool_choice.is_some() {
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
        out.key("function");
        out.begin_object();
        out.key("name");
        out.text(name);
        out.end_object();
    });
    Ok(())
}

fn write_tool(body: &mut Body<'_>, tool: &Tool, index: usize) -> Result<(), Refusal> {
    let ToolKind::Function { name, description, parameters, strict } = &tool.kind else {
        return body.own_tool(&tool.kind, index, SELF);
    };
    let out = &mut body.out;
    out.begin_object();
    out.key("type");
    out.string("function");
    out.key("function");
    out.begin_object();
    out.key("name");
    out.text(name);
    if let Some(description) = description {
        out.key("description");
        out.text(description);
    }
    if let Some(parameters) = parameters {
        out.key("parameters");
        out.json(parameters);
    }
    if let Some(strict) = strict {
        out.key("strict");
        out.bool(*strict);
    }
    out.end_object();
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

fn write_output(body: &mut Body<'_>, output: &OutputFormat) {
    if !body.member("response_format") {
        return;
    }
    let out = &mut body.out;
    out.begin_object();
    out.key("type");
    match output {
        OutputFormat::Text => out.string("text"),
        OutputFormat::JsonObject => out.string("json_object"),
        OutputFormat::JsonSchema { name, description, schema, strict } => {
            out.string("json_schema");
            out.key("json_schema");
            out.begin_object();
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
            out.end_object();
        }
    }
    out.end_object();
}

/// Switching reasoning off has a word (`none`) that only some models know: it is left out and named.
fn write_reasoning(body: &mut Body<'_>, reasoning: &Reasoning) {
    for attachment in &reasoning.attachments {
        body.drop(format!("thinking.{}", attachment.name.plain()));
    }
    if !reasoning.enabled {
        body.drop("thinking");
        return;
    }
    if body.member("reasoning_effort") {
        body.out.text(&reasoning.effort_word());
    }
}

fn write_attachment(body: &mut Body<'_>, attachment: &Attachment) {
    let name = attachment.name.plain();
    match &*name {
        // Written with the stream.
        "stream_options" if attachment.dialect == SELF => {}
        // The two values of Anthropic that mean the same here.
        "service_tier" if attachment.value.raw().is_str("auto") => {
            if body.member("service_tier") {
                body.out.string("auto");
            }
        }
        "service_tier" if attachment.value.raw().is_str("standard_only") => {
            if body.member("service_tier") {
                body.out.string("default");
            }
        }
        _ => body.attachment(attachment, SELF),
    }
}
