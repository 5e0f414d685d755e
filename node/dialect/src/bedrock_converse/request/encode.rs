//! Writes the top level of a request.

use super::{
    encode_fields::{write_fields, write_response_paths},
    encode_messages::Conversation,
    encode_tools::Offer,
    fields,
    reasoning::Asked,
};
use crate::{
    Dialect, Encoded, Refusal, Target,
    anthropic_messages::{Thinking, write_closed},
    bedrock_converse::family::Family,
    body::Body,
    foreign,
    ir::{Attachment, Features, Json, OutputFormat, Request, Text, ToolKind},
    json::Writer,
};

const SELF: Dialect = Dialect::BedrockConverse;

/// What no target of this dialect can do and nobody would want left out.
pub(in crate::bedrock_converse) const LACKS: Features = Features::CHOICES
    .with(Features::LOGPROBS)
    .with(Features::AUDIO_OUTPUT)
    .with(Features::IMAGE_OUTPUT)
    .with(Features::SERVER_TOOLS);

/// Writes a request.
pub(in crate::bedrock_converse) fn encode(
    request: &Request,
    target: &Target<'_>,
) -> Result<Encoded, Refusal> {
    foreign::refuse_state(request, SELF)?;
    refuse_foreign(request)?;
    let mut body = Body::without_model(target, 4096);
    let family = Family::of(target.model);
    let asked = Asked::of(request, family, target, &mut body);
    let conversation = Conversation::of(&request.messages, family, &mut body)?;
    conversation.write(&mut body);
    write_inference(&mut body, request, &asked, family);
    let offer = Offer::of(request, &conversation, &asked, &mut body);
    offer.write(&mut body, family)?;
    write_output(&mut body, request, &asked);
    write_fields(&mut body, request, &asked, (family, &offer));
    write_response_paths(&mut body, request, family);
    if request.user.is_some() {
        body.drop("user");
    }
    for attachment in &request.attachments {
        write_attachment(&mut body, attachment);
    }
    Ok(body.finish())
}

/// Needs that came with members of another dialect cannot be met here; our own tools can.
fn refuse_foreign(request: &Request) -> Result<(), Refusal> {
    let lacking = request.needs.and(LACKS);
    if lacking.is_empty() {
        return Ok(());
    }
    let own_tools = request.tools.iter().all(|tool| match tool.kind {
        ToolKind::Opaque { dialect, .. } => dialect == SELF,
        ToolKind::Function { .. } => true,
    });
    let foreign = request.attachments.iter().any(|attachment| attachment.dialect != SELF);
    if lacking == Features::SERVER_TOOLS && own_tools && !foreign {
        return Ok(());
    }
    let names = lacking.names().collect::<Vec<_>>().join(", ");
    let what = format!("the request needs what {} lacks: {names}", SELF.name());
    Err(Refusal::new(crate::RefusalKind::InvalidRequest, what))
}

/// What goes into `inferenceConfig`.
struct Inference<'r> {
    max_tokens: Option<u64>,
    temperature: Option<&'r Json>,
    top_p: Option<&'r Json>,
    stop: Vec<&'r Text>,
}

fn write_inference(body: &mut Body<'_>, request: &Request, asked: &Asked, family: Family) {
    static ONE: Json = Json::fixed("1");
    let number = |json: &Json| json.raw().f64().unwrap_or(1.0);
    let sampling = &request.sampling;
    let no_sampling = *asked == Asked::Nova("high");
    let temperature = sampling.temperature.as_ref().and_then(|temperature| {
        let value = number(temperature);
        let thinks = asked.thinks() && value != 1.0;
        if thinks || no_sampling || value > 1.0 {
            body.drop("temperature");
        }
        match value > 1.0 {
            _ if thinks || no_sampling => None,
            true => Some(&ONE),
            false => Some(temperature),
        }
    });
    let top_p = sampling.top_p.as_ref().filter(|top_p| {
        // Newer models of Anthropic refuse both at once; 1 is what is so anyway.
        let beside_temperature = sampling.temperature.is_some();
        let low = asked.thinks() && number(top_p) < 0.95;
        let second = beside_temperature && number(top_p) < 1.0 && family == Family::Claude;
        if low || no_sampling || second {
            body.drop("top_p");
            return false;
        }
        !beside_temperature || number(top_p) < 1.0 || !family.reads_claude()
    });
    // Models of Anthropic refuse stop texts of white space alone.
    let unusable = |text: &Text| text.is_empty() || (family == Family::Claude && text.is_blank());
    if request.stop.iter().any(unusable) {
        body.drop("stop");
    }
    let stop = request.stop.iter().filter(|text| !unusable(text)).collect();
    Inference { max_tokens: limit(request, asked), temperature, top_p, stop }.write(body);
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

/// A budget must lie below the limit: it is raised where it does not.
fn limit(request: &Request, asked: &Asked) -> Option<u64> {
    let tokens = request.max_tokens?;
    Some(match asked {
        Asked::Claude(Thinking::Budget(budget)) if tokens <= *budget => tokens.saturating_add(*budget),
        _ => tokens,
    })
}

impl Inference<'_> {
    fn write(&self, body: &mut Body<'_>) {
        let says_nothing = self.max_tokens.is_none()
            && self.temperature.is_none()
            && self.top_p.is_none()
            && self.stop.is_empty();
        if says_nothing || !body.member("inferenceConfig") {
            return;
        }
        let out = &mut body.out;
        out.begin_object();
        if let Some(tokens) = self.max_tokens {
            out.key("maxTokens");
            out.u64(tokens);
        }
        for (name, value) in [("temperature", self.temperature), ("topP", self.top_p)] {
            if let Some(value) = value {
                out.key(name);
                out.json(value);
            }
        }
        if !self.stop.is_empty() {
            out.key("stopSequences");
            out.begin_array();
            self.stop.iter().for_each(|text| out.text(text));
            out.end_array();
        }
        out.end_object();
    }
}

fn write_output(body: &mut Body<'_>, request: &Request, asked: &Asked) {
    let schema = match &request.output {
        Some(OutputFormat::JsonSchema { name, description, schema, .. }) => Some((name, description, schema)),
        Some(OutputFormat::JsonObject) => {
            body.drop("response_format");
            None
        }
        Some(OutputFormat::Text) | None => None,
    };
    let effort = asked.effort();
    if (schema.is_none() && effort.is_none()) || !body.member("outputConfig") {
        return;
    }
    let out = &mut body.out;
    out.begin_object();
    if let Some((name, description, schema)) = schema {
        out.key("textFormat");
        out.raw(br#"{"type":"json_schema","structure":{"jsonSchema":"#);
        out.begin_object();
        out.key("schema");
        let mut closed = Writer::with_capacity(schema.bytes().len() + 32);
        write_closed(&mut closed, schema.raw(), &mut body.dropped);
        out.string(&String::from_utf8_lossy(&closed.finish()));
        for (member, text) in [("name", name), ("description", description)] {
            if let Some(text) = text {
                out.key(member);
                out.text(text);
            }
        }
        out.end_object();
        out.end_object();
        out.end_object();
    }
    if let Some(effort) = effort {
        out.key("effort");
        out.text(effort);
    }
    out.end_object();
}

fn write_attachment(body: &mut Body<'_>, attachment: &Attachment) {
    let name = attachment.name.plain();
    let own_field = attachment.dialect == SELF && fields::inside(&name).is_some();
    match &*name {
        // Written with the other fields of the model.
        _ if own_field => {}
        "service_tier" if attachment.dialect != SELF => write_tier(body, attachment),
        // Usage comes with every stream here.
        "stream_options" => {
            for member in attachment.value.raw().members().filter(|member| !member.is("include_usage")) {
                body.drop(format!("stream_options.{}", crate::json::unescape(member.key)));
            }
        }
        _ => body.attachment(attachment, SELF),
    }
}

/// The tiers that OpenAI has as well; `auto` is what is so anyway.
fn write_tier(body: &mut Body<'_>, attachment: &Attachment) {
    let tier = attachment.value.raw();
    if tier.is_str("auto") {
        return;
    }
    let common = ["default", "flex", "priority"].iter().any(|known| tier.is_str(known));
    if !common {
        body.drop("service_tier");
    } else if body.member("serviceTier") {
        body.out.begin_object();
        body.out.key("type");
        body.out.json(&attachment.value);
        body.out.end_object();
    }
}
