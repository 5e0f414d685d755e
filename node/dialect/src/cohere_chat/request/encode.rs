//! Writes the top level of a request.

use super::{
    encode_messages::{Documents, write_messages},
    encode_parts::write_document,
};
use crate::{
    Dialect, Encoded, Refusal, Target,
    body::Body,
    dropped, foreign,
    ir::{Attachment, Block, Features, Json, OutputFormat, Reasoning, Request, Tool, ToolChoice, ToolKind},
};

const SELF: Dialect = Dialect::CohereChat;

/// What no target of this dialect can do and nobody would want left out. Documents that are plain text are none.
pub(in crate::cohere_chat) const LACKS: Features = Features::CHOICES
    .with(Features::GUARDRAILS)
    .with(Features::DOCUMENTS)
    .with(Features::AUDIO)
    .with(Features::VIDEO)
    .with(Features::AUDIO_OUTPUT)
    .with(Features::IMAGE_OUTPUT)
    .with(Features::SERVER_TOOLS);

/// Most stop texts that the vendor takes.
const STOPS_MAX: usize = 5;

/// Schema of a tool without arguments, where the vendor demands one.
const NO_PARAMETERS: &[u8] = br#"{"type":"object","properties":{}}"#;

/// Writes a request.
pub(in crate::cohere_chat) fn encode(request: &Request, target: &Target<'_>) -> Result<Encoded, Refusal> {
    foreign::refuse_state(request, SELF)?;
    refuse_foreign(request)?;
    let is_json = matches!(request.output, Some(OutputFormat::JsonObject | OutputFormat::JsonSchema { .. }));
    if is_json && !request.tools.is_empty() {
        let what = "the answer's form cannot be prescribed together with tools in cohere-chat";
        return Err(Refusal::invalid("response_format", what));
    }
    let mut body = Body::new(target, 4096);
    // Nor together with documents: they are told as text then.
    let documents = if is_json { Documents::InPlace } else { Documents::Apart };
    let documents = write_messages(&mut body, &request.messages, documents)?;
    write_documents(&mut body, &documents);
    if request.stream && body.member("stream") {
        body.out.bool(true);
    }
    if let Some(tokens) = request.max_tokens
        && body.member("max_tokens")
    {
        body.out.u64(tokens);
    }
    write_sampling(&mut body, request);
    write_stop(&mut body, request);
    write_tools(&mut body, request)?;
    if let Some(output) = &request.output {
        write_output(&mut body, output);
    }
    if let Some(reasoning) = &request.reasoning {
        write_thinking(&mut body, reasoning);
    }
    if let Some(alternatives) = request.logprobs {
        if alternatives > 0 {
            body.drop("top_logprobs");
        }
        if body.member("logprobs") {
            body.out.bool(true);
        }
    }
    if request.user.is_some() {
        body.drop("user");
    }
    for attachment in &request.attachments {
        body.attachment(attachment, SELF);
    }
    Ok(body.finish())
}

/// Needs that came with members of another dialect cannot be met here; our own can.
fn refuse_foreign(request: &Request) -> Result<(), Refusal> {
    let foreign = |attachment: &Attachment| attachment.dialect != SELF;
    let lacking = request.needs.and(LACKS);
    if lacking.is_empty() {
        return Ok(());
    }
    let own_tools = request.tools.iter().all(|tool| match tool.kind {
        ToolKind::Opaque { dialect, .. } => dialect == SELF,
        ToolKind::Function { .. } => true,
    });
    if lacking == Features::SERVER_TOOLS && own_tools && !request.attachments.iter().any(foreign) {
        return Ok(());
    }
    let names = lacking.names().collect::<Vec<_>>().join(", ");
    let what = format!("the request needs what {} lacks: {names}", SELF.name());
    Err(Refusal::new(crate::RefusalKind::InvalidRequest, what))
}

fn write_documents(body: &mut Body<'_>, documents: &[&Block]) {
    if documents.is_empty() || !body.member("documents") {
        return;
    }
    body.out.begin_array();
    documents.iter().for_each(|document| write_document(body, document));
    body.out.end_array();
}

fn write_sampling(body: &mut Body<'_>, request: &Request) {
    let sampling = &request.sampling;
    write_bounded(body, ("temperature", "temperature"), sampling.temperature.as_ref(), ("0", "1"));
    if let Some(seed) = &sampling.seed
        && body.member("seed")
    {
        body.out.json(seed);
    }
    write_bounded(body, ("p", "top_p"), sampling.top_p.as_ref(), ("0.01", "0.99"));
    write_bounded(body, ("k", "top_k"), sampling.top_k.as_ref(), ("0", "500"));
    // The vendor takes one of the penalties; one of 0 is none.
    let penalties = [
        ("frequency_penalty", sampling.frequency_penalty.as_ref()),
        ("presence_penalty", sampling.presence_penalty.as_ref()),
    ];
    let weighs = |penalty: Option<&Json>| penalty.is_some_and(|penalty| penalty.raw().f64() != Some(0.0));
    let weighing = penalties.iter().position(|(_, penalty)| weighs(*penalty));
    for (i, (name, penalty)) in penalties.into_iter().enumerate() {
        if weighing.is_none_or(|weighing| weighing == i) {
            write_bounded(body, (name, name), penalty, ("0", "1"));
        } else if weighs(penalty) {
            body.drop(name);
        }
    }
}

/// A number, by the vendor's name and by the other vendors'. One beyond the bounds, which the vendor refuses, becomes
/// the nearest that it takes, and is named.
fn write_bounded(
    body: &mut Body<'_>,
    (name, theirs): (&str, &str),
    number: Option<&Json>,
    bounds: (&'static str, &'static str),
) {
    let Some(number) = number else { return };
    let nearest = nearest(number, bounds);
    if nearest.is_some() {
        body.drop(theirs);
    }
    if body.member(name) {
        match nearest {
            Some(nearest) => body.out.raw(nearest.as_bytes()),
            None => body.out.json(number),
        }
    }
}

/// The bound that a number lies beyond.
fn nearest(number: &Json, (least, most): (&'static str, &'static str)) -> Option<&'static str> {
    let value = number.raw().f64()?;
    let beyond =
        |bound: &str, is: fn(&f64, &f64) -> bool| bound.parse().is_ok_and(|bound: f64| is(&value, &bound));
    if beyond(least, f64::lt) { Some(least) } else { beyond(most, f64::gt).then_some(most) }
}

fn write_stop(body: &mut Body<'_>, request: &Request) {
    let stops = body.stops(request.stop.iter(), STOPS_MAX);
    if stops.is_empty() || !body.member("stop_sequences") {
        return;
    }
    body.out.begin_array();
    stops.into_iter().for_each(|text| body.out.text(text));
    body.out.end_array();
}

/// The vendor cannot be told which tool to call, only that one is to be called: where one is named, it is the only one
/// on offer.
fn write_tools(body: &mut Body<'_>, request: &Request) -> Result<(), Refusal> {
    if request.parallel_tools == Some(false) {
        body.drop("parallel_tool_calls");
    }
    if request.tools.is_empty() {
        if request.tool_choice.is_some() {
            body.drop("tool_choice");
        }
        return Ok(());
    }
    let named = match &request.tool_choice {
        Some(ToolChoice::Named(name)) => Some(name),
        _ => None,
    };
    let offered = |tool: &&Tool| match (&tool.kind, named) {
        (_, None) => true,
        (ToolKind::Function { name, .. }, Some(named)) => name.plain() == named.plain(),
        (ToolKind::Opaque { .. }, Some(_)) => false,
    };
    let tools: Vec<&Tool> = request.tools.iter().filter(offered).collect();
    if tools.is_empty() {
        return Err(Refusal::invalid("tool_choice", "`tool_choice` names a tool that is not on offer"));
    }
    if body.member("tools") {
        body.out.begin_array();
        for tool in &tools {
            let index = request.tools.iter().position(|known| std::ptr::eq(known, *tool));
            write_tool(body, tool, index.unwrap_or(0))?;
        }
        body.out.end_array();
    }
    write_strict(body, &tools);
    let choice = match &request.tool_choice {
        Some(ToolChoice::Required | ToolChoice::Named(_)) => "REQUIRED",
        Some(ToolChoice::None) => "NONE",
        Some(ToolChoice::Opaque(..)) => {
            body.drop("tool_choice");
            return Ok(());
        }
        Some(ToolChoice::Auto) | None => return Ok(()),
    };
    if body.member("tool_choice") {
        body.out.string(choice);
    }
    Ok(())
}

/// All tools are strict, or none is.
fn write_strict(body: &mut Body<'_>, tools: &[&Tool]) {
    let strict = |tool: &&Tool| match tool.kind {
        ToolKind::Function { strict, .. } => strict,
        ToolKind::Opaque { .. } => None,
    };
    let first = tools.first().and_then(strict);
    if tools.iter().all(|tool| strict(tool) == first) {
        if let Some(first) = first
            && body.member("strict_tools")
        {
            body.out.bool(first);
        }
    } else if tools.iter().any(|tool| strict(tool) == Some(true)) {
        body.drop("tools[].strict");
    }
}

fn write_tool(body: &mut Body<'_>, tool: &Tool, index: usize) -> Result<(), Refusal> {
    let ToolKind::Function { name, description, parameters, .. } = &tool.kind else {
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
    out.key("parameters");
    match parameters {
        Some(parameters) => out.json(parameters),
        None => out.raw(NO_PARAMETERS),
    }
    out.end_object();
    if tool.cache.is_some() {
        dropped::note(&mut body.dropped, "tools[].cache_control");
    }
    dropped::attachments(&tool.attachments, SELF, "tools[].", &mut body.out, &mut body.dropped);
    body.out.end_object();
    Ok(())
}

fn write_output(body: &mut Body<'_>, output: &OutputFormat) {
    if let OutputFormat::JsonSchema { description: Some(_), .. } = output {
        body.drop("response_format.json_schema.description");
    }
    if !body.member("response_format") {
        return;
    }
    body.out.begin_object();
    body.out.key("type");
    match output {
        OutputFormat::Text => body.out.string("text"),
        OutputFormat::JsonObject => body.out.string("json_object"),
        OutputFormat::JsonSchema { schema, .. } => {
            body.out.string("json_object");
            body.out.key("json_schema");
            body.out.json(schema);
        }
    }
    body.out.end_object();
}

/// The vendor takes a budget and no effort. The highest efforts have no budget: the model thinks as long as it likes.
fn write_thinking(body: &mut Body<'_>, reasoning: &Reasoning) {
    let unbounded = |reasoning: &&Reasoning| {
        reasoning.effort.as_ref().is_some_and(|effort| effort.is("xhigh") || effort.is("max"))
    };
    let budget = match reasoning.budget_tokens {
        Some(tokens) => Some(tokens),
        None => Some(reasoning).filter(|reasoning| !unbounded(reasoning)).and_then(Reasoning::budget),
    };
    if !body.member("thinking") {
        return;
    }
    body.out.begin_object();
    body.out.key("type");
    body.out.string(if reasoning.enabled { "enabled" } else { "disabled" });
    if let Some(budget) = budget {
        body.out.key("token_budget");
        body.out.u64(budget);
    }
    let parent = "reasoning.";
    dropped::attachments(&reasoning.attachments, SELF, parent, &mut body.out, &mut body.dropped);
    body.out.end_object();
}
