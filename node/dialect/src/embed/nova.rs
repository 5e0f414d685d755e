//! Amazon Nova on Bedrock: one thing a call.

use super::{
    Content, Embeds, Form, Input, Kind, Request, Response, Task, Truncation, Vectors,
    members::{attachments, bytes, check_count, names, no_titles, no_user, unmodelled},
    response::cost,
    task::Word,
};
use crate::{
    Encoded, Envelope, Refusal, StreamContext, Target,
    body::Body,
    ir::{Json, Usage},
    json::{self, Member, Raw, Writer, unescape},
    read::{self, Path, ROOT},
};
use bytes::Bytes;

const FORM: Form = Form::Nova;
const PARAMS: &str = "singleEmbeddingParams";
/// The model demands to be told what the vectors are for. Most texts of whom does not say it are documents.
const DEFAULT_TASK: &str = "GENERIC_INDEX";
const USAGE: &str = "inputTextTokenCount";

/// The codec.
pub(super) struct Nova;

impl Embeds for Nova {
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
        _: &Request,
        response: &Response,
        _: &StreamContext,
    ) -> Result<Encoded, String> {
        encode_response(response)
    }

    /// The vendor tells the count in a header; in case that it comes in the body as well.
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
    let mut params = None;
    for member in body.members().filter(|member| !member.value.is_null()) {
        let name = unescape(member.key);
        let path = ROOT.member(&name);
        match &*name {
            "fallbacks" => {}
            PARAMS => params = Some(member.value),
            "taskType" if member.value.is_str("SINGLE_EMBEDDING") => {}
            "taskType" => return Err(path.refuse("must be SINGLE_EMBEDDING")),
            "schemaVersion" if member.value.is_str("nova-multimodal-embed-v1") => {}
            _ => read::attach(&mut request.attachments, FORM.words(), &member, owner),
        }
    }
    let path = ROOT.member(PARAMS);
    let params = ROOT.required(params, PARAMS)?;
    let mut content = None;
    let (mut task, mut dimensions) = (None, None);
    for member in path.object(params)? {
        let name = unescape(member.key);
        let at = path.member(&name);
        match &*name {
            "embeddingPurpose" => task = Some(Task::from_nova(at.text(member.value, owner)?)),
            "embeddingDimension" => dimensions = Some(at.whole(member.value)?),
            _ if content.is_some() => return Err(at.refuse("must be the only thing to be embedded")),
            "text" => content = Some(read_text(&member, &at, owner, &mut request)?),
            _ => content = Some(Content::Own(object(&member))),
        }
    }
    let content = path.required(content, "text")?;
    request.inputs = vec![Input { task, dimensions, ..Input::new(content) }];
    Ok(request)
}

/// A text that stands in the body; one that lies elsewhere stays as it is.
fn read_text(
    member: &Member<'_>,
    path: &Path<'_>,
    owner: &Bytes,
    request: &mut Request,
) -> Result<Content, Refusal> {
    let (mut value, mut own) = (None, false);
    for inner in path.object(member.value)? {
        let name = unescape(inner.key);
        let at = path.member(&name);
        match &*name {
            "value" => value = Some(at.text(inner.value, owner)?),
            "truncationMode" => request.truncation = Some(read_truncation(inner.value, &at)?),
            _ => own = true,
        }
    }
    match value {
        Some(text) if !own => Ok(Content::Text(text)),
        None if !own => Err(path.member("value").refuse("is missing")),
        _ => Ok(Content::Own(object(member))),
    }
}

fn read_truncation(value: Raw<'_>, path: &Path<'_>) -> Result<Truncation, Refusal> {
    match value.string().as_deref() {
        Some("NONE") => Ok(Truncation::Refuse),
        Some("START") => Ok(Truncation::Start),
        Some("END") => Ok(Truncation::End),
        _ => Err(path.refuse("must be NONE, START or END")),
    }
}

/// A member as an object of its own.
fn object(member: &Member<'_>) -> Json {
    let mut out = Writer::with_capacity(member.key.len() + member.value.bytes().len() + 8);
    out.begin_object();
    out.key_escaped(member.key);
    out.raw(member.value.bytes());
    out.end_object();
    Json::from_valid(out.finish().into())
}

fn encode(request: &Request, target: &Target<'_>) -> Result<Encoded, Refusal> {
    check_count(request, 1)?;
    request.plain_kind()?;
    let mut body = Body::without_model(target, bytes(request));
    for (name, word) in [("schemaVersion", "nova-multimodal-embed-v1"), ("taskType", "SINGLE_EMBEDDING")] {
        if body.member(name) {
            body.out.string(word);
        }
    }
    if body.member(PARAMS) {
        body.out.begin_object();
        write_params(request, &mut body)?;
        body.out.end_object();
    }
    no_user(request, &mut body);
    no_titles(request, &mut body);
    attachments(request, FORM, &mut body);
    Ok(body.finish())
}

fn write_params(request: &Request, body: &mut Body<'_>) -> Result<(), Refusal> {
    let own = request.form == FORM;
    let task = request.task()?;
    let word = task.map_or(Word::Exact(DEFAULT_TASK), Task::nova);
    if !matches!(word, Word::Exact(_)) && !own {
        body.drop(names(request.form).task);
    }
    body.out.key("embeddingPurpose");
    match (word, task) {
        (Word::Exact(word) | Word::Near(word), _) => body.out.string(word),
        (Word::None, Some(Task::Other(word))) if own => body.out.text(word),
        (Word::None, _) => body.out.string(DEFAULT_TASK),
    }
    if let Some(dimensions) = request.dimensions()? {
        body.out.key("embeddingDimension");
        body.out.u64(dimensions);
    }
    for input in &request.inputs {
        if let Content::Own(object) = &input.content
            && own
        {
            for member in object.raw().members() {
                body.out.key_escaped(member.key);
                body.out.raw(member.value.bytes());
            }
            continue;
        }
        let text = request.text(input)?;
        body.out.key("text");
        body.out.begin_object();
        body.out.key("truncationMode");
        // It must be said; where the client does not, nothing is cut without a word.
        body.out.string(match request.truncation {
            Some(Truncation::Start) => "START",
            Some(Truncation::End) => "END",
            Some(Truncation::Refuse) | None => "NONE",
        });
        body.out.key("value");
        body.out.text(text);
        body.out.end_object();
    }
    Ok(())
}

fn decode_response(body: &Bytes) -> Result<Response, String> {
    let root = Raw::parse(body).map_err(|error| format!("not JSON: {error}"))?;
    let mut response = Response::default();
    let mut list = Vec::new();
    for member in root.members().filter(|member| !member.value.is_null()) {
        match &*unescape(member.key) {
            "embeddings" => {
                for item in member.value.elements() {
                    let vector = item.get("embedding").filter(|vector| vector.kind() == json::Kind::Array);
                    list.push(vector.ok_or("an embedding that is no vector")?.json(body));
                    for inner in
                        item.members().filter(|inner| !inner.is("embedding") && !inner.is("embeddingType"))
                    {
                        let attachments = &mut response.attachments;
                        read::attach_inner(attachments, FORM.words(), "embeddings[]", &inner, body);
                    }
                }
            }
            USAGE => response.usage = Nova.usage(member.value),
            _ => read::attach(&mut response.attachments, FORM.words(), &member, body),
        }
    }
    if list.is_empty() {
        return Err("an answer without embeddings".to_owned());
    }
    response.vectors = vec![Vectors { kind: Kind::Float, list }];
    Ok(response)
}

fn encode_response(response: &Response) -> Result<Encoded, String> {
    let mut dropped = Vec::new();
    let mut out = Writer::with_capacity(1024);
    out.begin_object();
    out.key("embeddings");
    out.begin_array();
    out.begin_object();
    out.key("embeddingType");
    out.string("TEXT");
    out.key("embedding");
    out.json(&response.first(&Kind::Float)?);
    out.end_object();
    out.end_array();
    unmodelled(response, (FORM, &["embeddings", USAGE]), &mut out, &mut dropped);
    if let Some(usage) = response.usage {
        out.key(USAGE);
        out.u64(usage.input);
    }
    out.end_object();
    Ok(Encoded { body: out.finish(), dropped })
}
