//! Writes `generationConfig`.

use super::thinking::{Amount, Thinking};
use crate::{
    Dialect,
    body::Body,
    dropped,
    gemini::{attached, model::Model, schema},
    ir::{OutputFormat, Reasoning, Request},
    json::Writer,
};

const SELF: Dialect = Dialect::Gemini;
const PARENT: &str = "generationConfig";
/// Most stop texts that the vendor takes.
const STOPS_MAX: usize = 5;

/// Writes it, if there is anything to say.
pub(super) fn write_config(body: &mut Body<'_>, request: &Request) {
    let mut out = Writer::with_capacity(256);
    out.begin_object();
    write_numbers(&mut out, request);
    let stops = body.stops(request.stop.iter().filter(|text| !text.is_empty()), STOPS_MAX);
    if !stops.is_empty() {
        out.key("stopSequences");
        out.begin_array();
        stops.into_iter().for_each(|text| out.text(text));
        out.end_array();
    }
    if let Some(output) = &request.output {
        write_output(body, &mut out, output);
    }
    if let Some(reasoning) = &request.reasoning {
        write_thinking(body, &mut out, reasoning);
    }
    attached::write_inside(&request.attachments, PARENT, &mut out);
    out.end_object();
    let config = out.finish();
    if config != b"{}" && body.member(PARENT) {
        body.out.raw(&config);
    }
}

fn write_numbers(out: &mut Writer, request: &Request) {
    if let Some(tokens) = request.max_tokens {
        out.key("maxOutputTokens");
        out.u64(tokens);
    }
    let sampling = &request.sampling;
    let numbers = [
        ("temperature", &sampling.temperature),
        ("topP", &sampling.top_p),
        ("topK", &sampling.top_k),
        ("frequencyPenalty", &sampling.frequency_penalty),
        ("presencePenalty", &sampling.presence_penalty),
        ("seed", &sampling.seed),
    ];
    for (name, number) in numbers {
        if let Some(number) = number {
            out.key(name);
            out.json(number);
        }
    }
    if let Some(alternatives) = request.logprobs {
        out.key("responseLogprobs");
        out.bool(true);
        if alternatives > 0 {
            out.key("logprobs");
            out.u64(alternatives);
        }
    }
}

fn write_output(body: &mut Body<'_>, out: &mut Writer, output: &OutputFormat) {
    out.key("responseMimeType");
    match output {
        OutputFormat::Text => out.string("text/plain"),
        OutputFormat::JsonObject => out.string("application/json"),
        OutputFormat::JsonSchema { description, schema, .. } => {
            out.string("application/json");
            out.key("responseJsonSchema");
            let place = schema::Place::Output;
            schema::write(schema, place, out, &mut body.dropped);
            if description.is_some() {
                body.drop("response_format.json_schema.description");
            }
        }
    }
}

fn write_thinking(body: &mut Body<'_>, out: &mut Writer, reasoning: &Reasoning) {
    let Thinking { amount, is_near } = Thinking::of(reasoning, Model::of(body.target.model));
    if is_near {
        body.drop(match (reasoning.enabled, reasoning.budget_tokens) {
            (true, Some(_)) => "thinking.budget_tokens",
            (true, None) => "reasoning_effort",
            (false, _) => "thinking",
        });
    }
    let parent = "thinking.";
    if amount == Amount::Untold {
        for attachment in &reasoning.attachments {
            dropped::note(&mut body.dropped, format!("{parent}{}", attachment.name.plain()));
        }
        return;
    }
    out.key("thinkingConfig");
    out.begin_object();
    match amount {
        Amount::Untold | Amount::Free => {}
        Amount::Dynamic => {
            out.key("thinkingBudget");
            out.raw(b"-1");
        }
        Amount::Budget(tokens) => {
            out.key("thinkingBudget");
            out.u64(tokens);
        }
        Amount::Level(level) => {
            out.key("thinkingLevel");
            out.string(level);
        }
    }
    // Who asks for reasoning in another dialect sees it.
    let own = |name: &str| reasoning.attachments.iter().any(|a| a.dialect == SELF && a.name.is(name));
    if reasoning.enabled && !own("includeThoughts") && !own("include_thoughts") {
        out.key("includeThoughts");
        out.bool(true);
    }
    dropped::attachments(&reasoning.attachments, SELF, parent, out, &mut body.dropped);
    out.end_object();
}
