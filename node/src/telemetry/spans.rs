//! Requests that have ended become spans of OTLP, in the words of the OpenTelemetry conventions for HTTP and generative AI:
//! <https://opentelemetry.io/docs/specs/semconv/gen-ai/gen-ai-spans/>. What they have no word for is `trestle.*`.

use opentelemetry_proto::tonic::{
    common::v1::{AnyValue, ArrayValue, KeyValue, any_value::Value},
    trace::v1::{
        Span, Status,
        span::{Event, SpanKind},
        status::StatusCode,
    },
};
use std::time::{Duration, UNIX_EPOCH};
use trestle_config::TargetConfig;
use trestle_dialect::ir::Usage;
use trestle_gateway::{FinishedCall, FinishedRequest, Stage, usd};

/// Flags of a span: the lowest bit is that of `traceparent`; the next say that it is known whether a parent is remote.
const SAMPLED: u32 = 1;
const REMOTE_KNOWN: u32 = 0x100;
const REMOTE: u32 = 0x200;

/// Events of one span; a request that tried more names the first.
const EVENTS_MAX: usize = 32;

/// The spans of a request: its own first, then those of the stages that are wanted and of its calls.
pub(super) fn spans(request: &FinishedRequest, stages: &[Stage]) -> Vec<Span> {
    let mut spans = vec![server(request)];
    let wanted =
        request.stages.iter().filter(|(stage, ..)| *stage != Stage::Attempt && stages.contains(stage));
    for (index, (stage, from, to)) in wanted.enumerate() {
        let span = begun(request, (own_id(request, index), Some(request.span_id)), (*from, *to));
        let attributes = vec![text("trestle.stage", stage.name())];
        spans.push(Span {
            name: stage.name().to_owned(),
            kind: SpanKind::Internal.into(),
            attributes,
            ..span
        });
    }
    if stages.contains(&Stage::Attempt) {
        spans.extend(request.calls.iter().map(|call| client(request, call)));
    }
    spans
}

/// Stages need no ids while the request runs: nobody is called from there.
fn own_id(request: &FinishedRequest, index: usize) -> u64 {
    request.span_id.wrapping_add(0x9E37_79B9_7F4A_7C15_u64.wrapping_mul(index as u64 + 1)).max(1)
}

fn server(request: &FinishedRequest) -> Span {
    let span = begun(request, (request.span_id, request.parent), (Duration::ZERO, request.total));
    let mut attributes = asked(request, &request.model, request.target.as_deref());
    attributes.push(text("trestle.request_id", &request.request_id));
    attributes.push(text("trestle.endpoint", request.endpoint));
    attributes.push(text("trestle.outcome", request.outcome));
    attributes.extend(request.method.map(|method| text("http.request.method", method)));
    if request.status > 0 {
        attributes.push(number("http.response.status_code", request.status.into()));
    }
    if let Some(caller) = &request.caller {
        attributes.push(text("trestle.key", &caller.name));
        let owners = [("user", &caller.user), ("team", &caller.team), ("customer", &caller.customer)];
        let owners = owners.into_iter().filter_map(|(kind, name)| Some((kind, name.as_deref()?)));
        attributes.extend(owners.map(|(kind, name)| text(&format!("trestle.{kind}"), name)));
    }
    if let Some(target) = &request.target {
        attributes.push(text("trestle.target", &target.name));
    }
    if let Some(nano_usd) = request.nano_usd {
        let cost = usd(nano_usd).parse().unwrap_or(nano_usd as f64 / 1e9);
        attributes.push(attribute("trestle.cost_usd", Value::DoubleValue(cost)));
    }
    answered(request, &mut attributes);
    used(request.usage, &mut attributes);
    let fault = fault(request);
    attributes.extend(fault.map(|why| text("error.type", why)));
    let failed = request.failed.iter().take(EVENTS_MAX).map(|failed| Event {
        time_unix_nano: nanos(request, failed.at),
        name: "trestle.attempt.failed".to_owned(),
        attributes: vec![text("trestle.target", &failed.target), text("error.type", failed.cause)],
        ..Event::default()
    });
    Span {
        name: format!("{} {}", request.operation, request.model).trim_end().to_owned(),
        kind: SpanKind::Server.into(),
        flags: flags(request, if request.parent.is_some() { REMOTE } else { 0 }),
        // A refusal for which the caller is to blame is no error of the server.
        status: fault
            .filter(|_| request.status == 0 || request.status >= 500 || request.outcome == "broken")
            .map(status),
        events: failed.collect(),
        attributes,
        ..span
    }
}

/// Why a request did not end well.
fn fault(request: &FinishedRequest) -> Option<&'static str> {
    match request.outcome {
        "ok" => None,
        outcome => Some(request.cause.unwrap_or(outcome)),
    }
}

fn client(request: &FinishedRequest, call: &FinishedCall) -> Span {
    let span = begun(request, (call.span_id, Some(request.span_id)), (call.begun, call.ended));
    let mut attributes = asked(request, &call.target.model, Some(&call.target));
    attributes.push(text("trestle.target", &call.target.name));
    if let Some((host, port)) = call.server() {
        attributes.push(text("server.address", host));
        attributes.push(number("server.port", port.into()));
    }
    if call.status > 0 {
        attributes.push(number("http.response.status_code", call.status.into()));
    }
    if let Some(head) = call.head {
        let waited = head.saturating_sub(call.begun).as_secs_f64();
        attributes.push(attribute("trestle.upstream_seconds", Value::DoubleValue(waited)));
    }
    // What the answer says of itself is of the call that gave it.
    if call.cause.is_none() && request.calls.last().is_some_and(|last| last.span_id == call.span_id) {
        answered(request, &mut attributes);
    }
    used(call.usage, &mut attributes);
    attributes.extend(call.cause.map(|cause| text("error.type", cause)));
    Span {
        name: format!("{} {}", request.operation, call.target.model).trim_end().to_owned(),
        kind: SpanKind::Client.into(),
        status: call.cause.map(status),
        attributes,
        ..span
    }
}

/// What is known of a request before it is answered.
fn asked(request: &FinishedRequest, model: &str, target: Option<&TargetConfig>) -> Vec<KeyValue> {
    let mut attributes = vec![text("gen_ai.operation.name", request.operation)];
    if !model.is_empty() {
        attributes.push(text("gen_ai.request.model", model));
    }
    if request.stream {
        attributes.push(attribute("gen_ai.request.stream", Value::BoolValue(true)));
    }
    attributes.extend(target.map(|target| text("gen_ai.provider.name", provider(&target.provider.vendor))));
    attributes
}

fn answered(request: &FinishedRequest, attributes: &mut Vec<KeyValue>) {
    let said =
        [("gen_ai.response.id", &request.response_id), ("gen_ai.response.model", &request.response_model)];
    let said = said.into_iter().filter_map(|(name, said)| Some((name, said.as_deref()?)));
    attributes.extend(said.map(|(name, said)| text(name, said)));
    if !request.finish_reasons.is_empty() {
        let values = request.finish_reasons.iter();
        let values = values.map(|reason| any(Value::StringValue(reason.to_string()))).collect();
        attributes
            .push(attribute("gen_ai.response.finish_reasons", Value::ArrayValue(ArrayValue { values })));
    }
    if let Some(first) = request.first.filter(|_| request.stream) {
        let first = Value::DoubleValue(first.as_secs_f64());
        attributes.push(attribute("gen_ai.response.time_to_first_chunk", first));
    }
}

fn used(usage: Option<Usage>, attributes: &mut Vec<KeyValue>) {
    let Some(usage) = usage else { return };
    attributes.push(number("gen_ai.usage.input_tokens", usage.input));
    attributes.push(number("gen_ai.usage.output_tokens", usage.output));
    for (name, count) in [
        ("gen_ai.usage.cache_read.input_tokens", usage.cache_read),
        ("gen_ai.usage.cache_creation.input_tokens", usage.cache_write),
        ("gen_ai.usage.reasoning.output_tokens", usage.reasoning),
    ] {
        if count > 0 {
            attributes.push(number(name, count));
        }
    }
}

/// The conventions' word for a vendor, else our own.
fn provider(vendor: &str) -> &str {
    match vendor {
        "azure" | "azure-deployments" => "azure.ai.openai",
        "azure-foundry" => "azure.ai.inference",
        "azure-anthropic" => "anthropic",
        "bedrock" => "aws.bedrock",
        "gemini" => "gcp.gemini",
        "mistral" => "mistral_ai",
        "moonshot" => "moonshot_ai",
        "vertex" | "vertex-anthropic" => "gcp.vertex_ai",
        "xai" => "x_ai",
        other => other,
    }
}

fn begun(
    request: &FinishedRequest,
    (span_id, parent): (u64, Option<u64>),
    (from, to): (Duration, Duration),
) -> Span {
    Span {
        trace_id: request.trace_id.to_be_bytes().to_vec(),
        span_id: span_id.to_be_bytes().to_vec(),
        parent_span_id: parent.map(|id| id.to_be_bytes().to_vec()).unwrap_or_default(),
        trace_state: request.state.as_deref().unwrap_or_default().to_owned(),
        flags: flags(request, 0),
        start_time_unix_nano: nanos(request, from),
        end_time_unix_nano: nanos(request, to.max(from)),
        ..Span::default()
    }
}

fn flags(request: &FinishedRequest, more: u32) -> u32 {
    REMOTE_KNOWN | more | if request.sampled { SAMPLED } else { 0 }
}

fn nanos(request: &FinishedRequest, after: Duration) -> u64 {
    let at = request.at.duration_since(UNIX_EPOCH).unwrap_or_default() + after;
    u64::try_from(at.as_nanos()).unwrap_or(u64::MAX)
}

fn status(why: &str) -> Status {
    Status { code: StatusCode::Error.into(), message: why.to_owned() }
}

fn attribute(name: &str, value: Value) -> KeyValue {
    KeyValue { key: name.to_owned(), value: Some(any(value)), ..KeyValue::default() }
}

fn text(name: &str, value: &str) -> KeyValue {
    attribute(name, Value::StringValue(value.to_owned()))
}

fn number(name: &str, value: u64) -> KeyValue {
    attribute(name, Value::IntValue(i64::try_from(value).unwrap_or(i64::MAX)))
}

fn any(value: Value) -> AnyValue {
    AnyValue { value: Some(value) }
}
