//! Writes the top level of a request.

use super::{closed::write_closed, encode_messages::Conversation, thinking::Thinking};
use crate::{
    Dialect, Encoded, Refusal, Target,
    body::Body,
    dropped, foreign,
    ir::{Attachment, Features, Json, OutputFormat, Request, Text, Tool, ToolChoice, ToolKind},
    json::Kind,
};

const SELF: Dialect = Dialect::AnthropicMessages;

/// What no target of this dialect can do and nobody would want left out.
pub(in crate::anthropic_messages) const LACKS: Features = Features::CHOICES
    .with(Features::LOGPROBS)
    .with(Features::AUDIO)
    .with(Features::VIDEO)
    .with(Features::AUDIO_OUTPUT)
    .with(Features::IMAGE_OUTPUT)
    .with(Features::GUARDRAILS)
    .with(Features::SERVER_TOOLS);

/// Writes a request.
pub(in crate::anthropic_messages) fn encode(
    request: &Request,
    target: &Target<'_>,
) -> Result<Encoded, Refusal> {
    foreign::refuse_state(request, SELF)?;
    foreign::refuse_needs(request, SELF, LACKS)?;
    let mut body = Body::new(target, 4096);
    let thinking = Thinking::of(request, target);
    let conversation = Conversation::of(&request.messages);
    conversation.write(&mut body)?;
    write_limit(&mut body, request, &thinking);
    if request.stream && body.member("stream") {
        body.out.bool(true);
    }
    write_sampling(&mut body, request, &thinking);
    write_stop(&mut body, &request.stop);
    if request.tools.is_empty() {
        write_called_tools(&mut body, request, &conversation);
    } else {
        write_tools(&mut body, request, &thinking)?;
    }
    write_thinking(&mut body, request, &thinking);
    write_output_config(&mut body, request, &thinking);
    if let Some(user) = &request.user
        && body.member("metadata")
    {
        body.out.begin_object();
        body.out.key("user_id");
        body.out.text(user);
        body.out.end_object();
    }
    for attachment in &request.attachments {
        write_attachment(&mut body, attachment);
    }
    Ok(body.finish())
}

/// The limit is required, and a budget must lie below it: it is raised where it does not.
fn write_limit(body: &mut Body<'_>, request: &Request, thinking: &Thinking) {
    let mut tokens = request.max_tokens.unwrap_or(body.target.quirks.default_max_tokens.into());
    if let Thinking::Budget(budget) = thinking
        && tokens <= *budget
    {
        tokens = tokens.saturating_add(*budget);
    }
    if body.member("max_tokens") {
        body.out.u64(tokens);
    }
}

fn write_sampling(body: &mut Body<'_>, request: &Request, thinking: &Thinking) {
    let sampling = &request.sampling;
    let number = |json: &Json| json.raw().f64().unwrap_or(1.0);
    if let Some(temperature) = &sampling.temperature {
        let value = number(temperature);
        if thinking.is_on() && value != 1.0 {
            body.drop("temperature");
        } else if value > 1.0 {
            body.drop("temperature");
            if body.member("temperature") {
                body.out.u64(1);
            }
        } else if body.member("temperature") {
            body.out.json(temperature);
        }
    }
    if let Some(top_p) = &sampling.top_p {
        // Newer models refuse both at once; 1 is what is so anyway.
        let beside_temperature = sampling.temperature.is_some();
        let low = thinking.is_on() && number(top_p) < 0.95;
        if low || (beside_temperature && number(top_p) < 1.0) {
            body.drop("top_p");
        } else if !beside_temperature && body.member("top_p") {
            body.out.json(top_p);
        }
    }
    if let Some(top_k) = &sampling.top_k {
        if thinking.is_on() {
            body.drop("top_k");
        } else if body.member("top_k") {
            body.out.json(top_k);
        }
    }
    let others = [
        ("frequency_penalty", &sampling.frequency_penalty),
        ("presence_penalty", &sampling.presence_penalty),
        ("seed", &sampling.seed),
    ];
    for (name, value) in others {
        // A penalty of 0 is none.
        if value.as_ref().is_some_and(|value| name == "seed" || number(value) != 0.0) {
            body.drop(name);
        }
    }
}

/// Stop texts of white space alone are refused by the vendor.
fn write_stop(body: &mut Body<'_>, stop: &[Text]) {
    if stop.iter().any(Text::is_blank) {
        body.drop("stop");
    }
    if stop.iter().all(Text::is_blank) || !body.member("stop_sequences") {
        return;
    }
    body.out.begin_array();
    stop.iter().filter(|text| !text.is_blank()).for_each(|text| body.out.text(text));
    body.out.end_array();
}

/// A conversation with tool calls must define tools, also where no more calls are wanted: those that were called,
/// with the choice of none.
fn write_called_tools(body: &mut Body<'_>, request: &Request, conversation: &Conversation<'_>) {
    if request.tool_choice.as_ref().is_some_and(|choice| *choice != ToolChoice::None) {
        body.drop("tool_choice");
    }
    let called = conversation.called();
    if called.is_empty() || !body.member("tools") {
        return;
    }
    body.out.begin_array();
    for name in called {
        body.out.begin_object();
        body.out.key("name");
        body.out.text(name);
        body.out.key("input_schema");
        write_schema(&mut body.out, None);
        body.out.end_object();
    }
    body.out.end_array();
    if body.member("tool_choice") {
        body.out.raw(br#"{"type":"none"}"#);
    }
}

fn write_tools(body: &mut Body<'_>, request: &Request, thinking: &Thinking) -> Result<(), Refusal> {
    let (tools, choice) = request.offer();
    if body.member("tools") {
        body.out.begin_array();
        for (i, tool) in tools.iter().enumerate() {
            write_tool(body, tool, i)?;
        }
        body.out.end_array();
    }
    let choice = match choice {
        Some(ToolChoice::Opaque(..)) => {
            body.drop("tool_choice");
            None
        }
        Some(choice) if !thinking.allows(&choice) => {
            body.drop("tool_choice");
            None
        }
        choice => choice,
    };
    let parallel = request.parallel_tools;
    if (choice.is_none() && parallel.is_none()) || !body.member("tool_choice") {
        return Ok(());
    }
    let choice = choice.unwrap_or(ToolChoice::Auto);
    body.out.begin_object();
    body.out.key("type");
    body.out.string(match &choice {
        ToolChoice::Auto | ToolChoice::Opaque(..) => "auto",
        ToolChoice::None => "none",
        ToolChoice::Required => "any",
        ToolChoice::Named(_) => "tool",
    });
    if let ToolChoice::Named(name) = &choice {
        body.out.key("name");
        body.out.text(name);
    }
    if let Some(parallel) = parallel.filter(|_| choice != ToolChoice::None) {
        body.out.key("disable_parallel_tool_use");
        body.out.bool(!parallel);
    }
    body.out.end_object();
    Ok(())
}

fn write_tool(body: &mut Body<'_>, tool: &Tool, index: usize) -> Result<(), Refusal> {
    let ToolKind::Function { name, description, parameters, strict } = &tool.kind else {
        return body.own_tool(&tool.kind, index, SELF);
    };
    let out = &mut body.out;
    out.begin_object();
    out.key("name");
    out.text(name);
    if let Some(description) = description {
        out.key("description");
        out.text(description);
    }
    out.key("input_schema");
    write_schema(out, parameters.as_ref());
    if let Some(strict) = strict {
        out.key("strict");
        out.bool(*strict);
    }
    if let Some(cache) = &tool.cache {
        out.key("cache_control");
        out.json(cache);
    }
    dropped::attachments(&tool.attachments, SELF, "tools[].", &mut body.out, &mut body.dropped);
    body.out.end_object();
    Ok(())
}

/// The schema of a tool must say that it is an object.
pub(crate) fn write_schema(out: &mut crate::json::Writer, parameters: Option<&Json>) {
    let Some(parameters) = parameters else {
        return out.raw(br#"{"type":"object","properties":{}}"#);
    };
    let raw = parameters.raw();
    if raw.kind() != Kind::Object || raw.get("type").is_some() {
        return out.json(parameters);
    }
    out.begin_object();
    out.key("type");
    out.string("object");
    for member in raw.members() {
        out.key_escaped(member.key);
        out.raw(member.value.bytes());
    }
    out.end_object();
}

fn write_thinking(body: &mut Body<'_>, request: &Request, thinking: &Thinking) {
    let attachments = request.reasoning.iter().flat_map(|reasoning| &reasoning.attachments);
    let is_kind = |attachment: &&Attachment| attachment.dialect == SELF && attachment.name.is("type");
    let kind = match thinking {
        Thinking::Unsaid => return,
        Thinking::Impossible => return body.drop("reasoning_effort"),
        Thinking::Disabled => "disabled",
        Thinking::Budget(_) => "enabled",
        Thinking::Adaptive(_) => "adaptive",
    };
    if !body.member("thinking") {
        return;
    }
    body.out.begin_object();
    body.out.key("type");
    match attachments.clone().find(is_kind).filter(|_| thinking.is_on()) {
        // A kind of its own, which no other vendor has.
        Some(kind) => body.out.json(&kind.value),
        None => body.out.string(kind),
    }
    if let Thinking::Budget(budget) = thinking {
        body.out.key("budget_tokens");
        body.out.u64(*budget);
    }
    for attachment in attachments.filter(|attachment| !is_kind(attachment)) {
        let one = std::slice::from_ref(attachment);
        dropped::attachments(one, SELF, "reasoning.", &mut body.out, &mut body.dropped);
    }
    body.out.end_object();
}

fn write_output_config(body: &mut Body<'_>, request: &Request, thinking: &Thinking) {
    let effort = match thinking {
        Thinking::Adaptive(effort) => effort.as_ref(),
        _ => None,
    };
    let schema = match &request.output {
        Some(OutputFormat::JsonSchema { description, schema, .. }) => {
            if description.is_some() {
                body.drop("response_format.json_schema.description");
            }
            Some(schema)
        }
        Some(OutputFormat::JsonObject) => {
            body.drop("response_format");
            None
        }
        Some(OutputFormat::Text) | None => None,
    };
    if (effort.is_none() && schema.is_none()) || !body.member("output_config") {
        return;
    }
    body.out.begin_object();
    if let Some(effort) = effort {
        body.out.key("effort");
        body.out.text(effort);
    }
    if let Some(schema) = schema {
        body.out.key("format");
        body.out.begin_object();
        body.out.key("type");
        body.out.string("json_schema");
        body.out.key("schema");
        write_closed(&mut body.out, schema.raw(), &mut body.dropped);
        body.out.end_object();
    }
    body.out.end_object();
}

fn write_attachment(body: &mut Body<'_>, attachment: &Attachment) {
    let name = attachment.name.plain();
    match &*name {
        // The two values of OpenAI that mean the same here.
        "service_tier" if attachment.value.raw().is_str("auto") => {
            if body.member("service_tier") {
                body.out.string("auto");
            }
        }
        "service_tier" if attachment.value.raw().is_str("default") => {
            if body.member("service_tier") {
                body.out.string("standard_only");
            }
        }
        // Nothing is kept here.
        "store" if attachment.value.raw().bool() == Some(false) => {}
        // Usage comes with every stream here.
        "stream_options" => {
            for member in attachment.value.raw().members().filter(|member| !member.is("include_usage")) {
                body.drop(format!("stream_options.{}", crate::json::unescape(member.key)));
            }
        }
        _ => body.attachment(attachment, SELF),
    }
}
