//! Amazon Titan on Bedrock: its models for texts, and the one for texts and pictures. One text a call.

use super::{
    Content, Embeds, Form, Input, Kind, Request, Response, Truncation, Vectors,
    members::{
        attachments, bytes, check_count, names, no_task, no_titles, no_truncation, no_user, unmodelled,
    },
    response::cost,
};
use crate::{
    Encoded, Envelope, Refusal, StreamContext, Target,
    body::Body,
    ir::{Json, Text, Usage},
    json::{self, Raw, Writer, unescape},
    read::{self, ROOT},
};
use bytes::Bytes;

const FORM: Form = Form::Titan;
/// The length of the vectors of the first model, which makes no others.
const FIRST_DIMENSIONS: u64 = 1536;
const USAGE: &str = "inputTextTokenCount";

/// The codec.
pub(super) struct Titan;

/// What a model takes beside a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Model {
    /// Nothing.
    First,
    /// `dimensions`, `normalize`, `embeddingTypes`.
    Second,
    /// `embeddingConfig.outputEmbeddingLength`.
    Pictures,
}

impl Model {
    fn of(name: &str) -> Self {
        if name.contains("titan-embed-image") {
            Self::Pictures
        } else if name.contains("titan-embed-text-v1") || name.contains("titan-embed-g1") {
            Self::First
        } else {
            Self::Second
        }
    }
}

impl Embeds for Titan {
    fn decode_request(&self, body: &Envelope) -> Result<Request, Refusal> {
        decode(body)
    }

    fn encode_request(&self, request: &Request, target: &Target<'_>) -> Result<Encoded, Refusal> {
        encode(request, target)
    }

    fn inputs_max(&self) -> usize {
        1
    }

    fn decode_response(&self, body: &Bytes) -> Result<Response, String> {
        decode_response(body)
    }

    fn encode_response(
        &self,
        request: &Request,
        response: &Response,
        _: &StreamContext,
    ) -> Result<Encoded, String> {
        encode_response(request, response)
    }

    fn usage_member(&self) -> &'static str {
        USAGE
    }

    fn usage(&self, member: Raw<'_>) -> Option<Usage> {
        member.u64().map(cost)
    }
}

fn decode(body: &Envelope) -> Result<Request, Refusal> {
    let owner = body.body();
    let mut request = Request::new(FORM);
    let (mut text, mut picture, mut dimensions) = (None, None, None);
    for member in body.members().filter(|member| !member.value.is_null()) {
        let name = unescape(member.key);
        let path = ROOT.member(&name);
        match &*name {
            "fallbacks" => {}
            // By default, and with all other vendors as well.
            "normalize" if member.value.bool() == Some(true) => {}
            "inputText" => text = Some(path.text(member.value, owner)?),
            "inputImage" => picture = Some(member.value),
            "dimensions" => dimensions = Some(path.whole(member.value)?),
            "embeddingConfig" => {
                for inner in path.object(member.value)? {
                    if inner.is("outputEmbeddingLength") {
                        dimensions = Some(path.member("outputEmbeddingLength").whole(inner.value)?);
                    } else {
                        read::attach_inner(
                            &mut request.attachments,
                            FORM.words(),
                            "embeddingConfig",
                            &inner,
                            owner,
                        );
                    }
                }
            }
            "embeddingTypes" => {
                for (i, item) in path.array(member.value)?.enumerate() {
                    let word = path.element(i).text(item, owner)?;
                    request.kinds.push(if word.is("float") { Kind::Float } else { Kind::Own(word) });
                }
            }
            _ => read::attach(&mut request.attachments, FORM.words(), &member, owner),
        }
    }
    let content = match (text, picture) {
        (Some(text), None) => Content::Text(text),
        // With or without a text: all that the body says of its input.
        (text, Some(picture)) => Content::Own(pair(text.as_ref(), picture)),
        (None, None) => return Err(ROOT.member("inputText").refuse("is missing")),
    };
    request.inputs = vec![Input { dimensions, ..Input::new(content) }];
    Ok(request)
}

/// A picture and perhaps a text, as an object.
fn pair(text: Option<&Text>, picture: Raw<'_>) -> Json {
    let mut out = Writer::with_capacity(picture.bytes().len() + 64);
    out.begin_object();
    if let Some(text) = text {
        out.key("inputText");
        out.text(text);
    }
    out.key("inputImage");
    out.raw(picture.bytes());
    out.end_object();
    Json::from_valid(out.finish().into())
}

fn encode(request: &Request, target: &Target<'_>) -> Result<Encoded, Refusal> {
    check_count(request, 1)?;
    let own = request.form == FORM;
    let model = Model::of(target.model);
    let mut body = Body::without_model(target, bytes(request));
    for input in &request.inputs {
        match &input.content {
            Content::Own(pair) if own => {
                for member in pair.raw().members() {
                    if body.member(&unescape(member.key)) {
                        body.out.raw(member.value.bytes());
                    }
                }
            }
            _ => {
                let text = request.text(input)?;
                if body.member("inputText") {
                    body.out.text(text);
                }
            }
        }
    }
    write_dimensions(request, model, &mut body)?;
    write_kinds(request, model, &mut body)?;
    no_user(request, &mut body);
    no_titles(request, &mut body);
    no_task(request, &mut body);
    // It refuses texts that are too long.
    if request.truncation.is_some_and(|truncation| truncation != Truncation::Refuse) {
        no_truncation(request, &mut body);
    }
    attachments(request, FORM, &mut body);
    Ok(body.finish())
}

fn write_dimensions(request: &Request, model: Model, body: &mut Body<'_>) -> Result<(), Refusal> {
    let Some(dimensions) = request.dimensions()? else { return Ok(()) };
    match model {
        Model::First if dimensions == FIRST_DIMENSIONS => {}
        Model::First => {
            let name = names(request.form).dimensions;
            let what = format!("`{name}` must be {FIRST_DIMENSIONS}: this model makes no other vectors");
            return Err(Refusal::invalid(name, what));
        }
        Model::Second if body.member("dimensions") => body.out.u64(dimensions),
        Model::Pictures if body.member("embeddingConfig") => {
            body.out.begin_object();
            body.out.key("outputEmbeddingLength");
            body.out.u64(dimensions);
            body.out.end_object();
        }
        Model::Second | Model::Pictures => {}
    }
    Ok(())
}

/// Floats come unasked.
fn write_kinds(request: &Request, model: Model, body: &mut Body<'_>) -> Result<(), Refusal> {
    if request.form != FORM {
        return request.plain_kind().map(drop);
    }
    if model == Model::Second && !request.kinds.is_empty() && body.member("embeddingTypes") {
        body.out.begin_array();
        for kind in &request.kinds {
            match kind {
                Kind::Own(word) => body.out.text(word),
                Kind::Float | Kind::Base64 => body.out.string("float"),
            }
        }
        body.out.end_array();
    }
    Ok(())
}

fn decode_response(body: &Bytes) -> Result<Response, String> {
    let root = Raw::parse(body).map_err(|error| format!("not JSON: {error}"))?;
    let mut response = Response::default();
    let mut vectors: Vec<(Kind, Raw<'_>)> = Vec::new();
    for member in root.members().filter(|member| !member.value.is_null()) {
        match &*unescape(member.key) {
            "embedding" => vectors.insert(0, (Kind::Float, member.value)),
            "embeddingsByType" => vectors.extend(member.value.members().map(|member| {
                let word = Text::from_escaped(Bytes::copy_from_slice(member.key));
                (if word.is("float") { Kind::Float } else { Kind::Own(word) }, member.value)
            })),
            USAGE => response.usage = Titan.usage(member.value),
            "message" => {
                return Err(format!(
                    "an error inside of a success: {}",
                    member.value.string().unwrap_or_default()
                ));
            }
            _ => read::attach(&mut response.attachments, FORM.words(), &member, body),
        }
    }
    for (kind, vector) in vectors {
        if vector.kind() != json::Kind::Array {
            return Err("an embedding that is no vector".to_owned());
        }
        // Floats stand in two places.
        if response.vectors.iter().all(|known| known.kind != kind) {
            response.vectors.push(Vectors { kind, list: vec![vector.json(body)] });
        }
    }
    match response.vectors.is_empty() {
        true => Err("an answer without an embedding".to_owned()),
        false => Ok(response),
    }
}

fn encode_response(request: &Request, response: &Response) -> Result<Encoded, String> {
    let mut dropped = Vec::new();
    let mut out = Writer::with_capacity(1024);
    out.begin_object();
    if let Ok(floats) = response.first(&Kind::Float) {
        out.key("embedding");
        out.json(&floats);
    }
    out.key("embeddingsByType");
    out.begin_object();
    for kind in request.wanted() {
        match kind {
            Kind::Own(word) => out.key_escaped(word.escaped()),
            Kind::Float | Kind::Base64 => out.key("float"),
        }
        out.json(&response.first(kind)?);
    }
    out.end_object();
    unmodelled(response, (FORM, &["embedding", "embeddingsByType", USAGE]), &mut out, &mut dropped);
    // Clients rely on it; who does not know the count counts none.
    out.key(USAGE);
    out.u64(response.usage.map_or(0, |usage| usage.input));
    out.end_object();
    Ok(Encoded { body: out.finish(), dropped })
}
