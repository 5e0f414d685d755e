//! OpenAI `embeddings`.

use super::{
    Content, Embeds, Form, Input, Kind, Request, Response, Task, Truncation, Vectors,
    members::{attachments, bytes, check_count, no_task, no_titles, no_truncation, unmodelled},
    response::cost,
    task::Word,
};
use crate::{
    Encoded, Envelope, Refusal, StreamContext, Target,
    body::Body,
    ir::Usage,
    json::{self, Raw, Writer, unescape},
    read::{self, Path, ROOT},
};
use bytes::Bytes;

const FORM: Form = Form::OpenAi;

/// The codec.
pub(super) struct OpenAi;

impl Embeds for OpenAi {
    fn decode_request(&self, body: &Envelope) -> Result<Request, Refusal> {
        decode(body)
    }

    fn encode_request(&self, request: &Request, target: &Target<'_>) -> Result<Encoded, Refusal> {
        encode(request, target)
    }

    /// The vendor's limit is high, and others behind its API have their own.
    fn inputs_max(&self) -> usize {
        usize::MAX
    }

    fn decode_response(&self, body: &Bytes) -> Result<Response, String> {
        decode_response(body)
    }

    fn encode_response(
        &self,
        request: &Request,
        response: &Response,
        context: &StreamContext,
    ) -> Result<Encoded, String> {
        encode_response(request, response, context)
    }

    fn usage_member(&self) -> &'static str {
        "usage"
    }

    fn usage(&self, member: Raw<'_>) -> Option<Usage> {
        let count = |name| member.get(name).and_then(Raw::u64);
        count("prompt_tokens").or_else(|| count("total_tokens")).map(cost)
    }
}

fn decode(body: &Envelope) -> Result<Request, Refusal> {
    let owner = body.body();
    let mut request = Request::new(FORM);
    let (mut inputs, mut dimensions, mut task) = (None, None, None);
    for member in body.members().filter(|member| !member.value.is_null()) {
        let name = unescape(member.key);
        let path = ROOT.member(&name);
        match &*name {
            "model" | "fallbacks" => {}
            "input" => inputs = Some(member.value),
            "dimensions" => dimensions = Some(path.whole(member.value)?),
            "encoding_format" => request.kinds = vec![kind(member.value, &path)?],
            "user" => request.user = Some(path.text(member.value, owner)?),
            // Not the vendor's own, but the only word that its clients have for it.
            "input_type" if member.value.text(owner).is_some_and(|word| Task::from_any(&word).is_some()) => {
                task = member.value.text(owner).and_then(|word| Task::from_any(&word));
            }
            _ => read::attach(&mut request.attachments, FORM.words(), &member, owner),
        }
    }
    let inputs = contents(ROOT.required(inputs, "input")?, &ROOT.member("input"), owner)?;
    let whole = |content| Input { task: task.clone(), dimensions, ..Input::new(content) };
    request.inputs = inputs.into_iter().map(whole).collect();
    Ok(request)
}

fn kind(value: Raw<'_>, path: &Path<'_>) -> Result<Kind, Refusal> {
    match value.string().as_deref() {
        Some("float") => Ok(Kind::Float),
        Some("base64") => Ok(Kind::Base64),
        _ => Err(path.refuse("must be float or base64")),
    }
}

/// A text, the tokens of one, or several of either.
fn contents(value: Raw<'_>, path: &Path<'_>, owner: &Bytes) -> Result<Vec<Content>, Refusal> {
    if let Some(text) = value.text(owner) {
        return Ok(vec![Content::Text(text)]);
    }
    let what = "must be a string, an array of strings, an array of tokens or an array of such arrays";
    let items = || value.elements();
    let all = |kind| items().all(|item| item.kind() == kind);
    if value.kind() != json::Kind::Array {
        return Err(path.refuse(what));
    }
    match items().next().map(Raw::kind) {
        None => Err(path.refuse("is empty")),
        Some(json::Kind::String) if all(json::Kind::String) => {
            Ok(items().filter_map(|item| item.text(owner)).map(Content::Text).collect())
        }
        Some(json::Kind::Number) => Ok(vec![tokens(value, path, owner)?]),
        Some(json::Kind::Array) if all(json::Kind::Array) => {
            items().enumerate().map(|(i, item)| tokens(item, &path.element(i), owner)).collect()
        }
        Some(_) => Err(path.refuse(what)),
    }
}

fn tokens(value: Raw<'_>, path: &Path<'_>, owner: &Bytes) -> Result<Content, Refusal> {
    for (i, token) in value.elements().enumerate() {
        path.element(i).whole(token)?;
    }
    Ok(Content::Tokens(value.json(owner)))
}

fn encode(request: &Request, target: &Target<'_>) -> Result<Encoded, Refusal> {
    check_count(request, usize::MAX)?;
    let kind = request.plain_kind()?;
    let mut body = Body::new(target, bytes(request));
    if body.member("input") {
        write_inputs(request, &mut body.out)?;
    }
    if let Some(dimensions) = request.dimensions()?
        && body.member("dimensions")
    {
        body.out.u64(dimensions);
    }
    if !request.kinds.is_empty() && body.member("encoding_format") {
        body.out.string(if *kind == Kind::Base64 { "base64" } else { "float" });
    }
    if let Some(user) = &request.user
        && body.member("user")
    {
        body.out.text(user);
    }
    if let Some(task) = request.task()? {
        match task.cohere() {
            Word::Exact(word) if request.form == FORM => {
                if body.member("input_type") {
                    body.out.string(word);
                }
            }
            _ => no_task(request, &mut body),
        }
    }
    no_titles(request, &mut body);
    // It refuses texts that are too long.
    if request.truncation.is_some_and(|truncation| truncation != Truncation::Refuse) {
        no_truncation(request, &mut body);
    }
    attachments(request, FORM, &mut body);
    Ok(body.finish())
}

fn write_inputs(request: &Request, out: &mut Writer) -> Result<(), Refusal> {
    if let [Input { content: Content::Text(text), .. }] = &request.inputs[..] {
        out.text(text);
        return Ok(());
    }
    out.begin_array();
    for input in &request.inputs {
        match &input.content {
            Content::Tokens(tokens) if request.form == FORM => out.json(tokens),
            _ => out.text(request.text(input)?),
        }
    }
    out.end_array();
    Ok(())
}

fn decode_response(body: &Bytes) -> Result<Response, String> {
    let root = Raw::parse(body).map_err(|error| format!("not JSON: {error}"))?;
    let mut response = Response::default();
    let mut list = None;
    for member in root.members() {
        match &*unescape(member.key) {
            "data" => list = Some(member.value),
            "object" => {}
            "id" => response.id = member.value.text(body).unwrap_or_default(),
            "model" => response.model = member.value.text(body).unwrap_or_default(),
            "usage" => response.usage = OpenAi.usage(member.value),
            _ if member.value.is_null() => {}
            _ => read::attach(&mut response.attachments, FORM.words(), &member, body),
        }
    }
    let list: Raw<'_> = list.ok_or("an answer without `data`")?;
    let mut found = Vec::new();
    for (i, item) in list.elements().enumerate() {
        let vector = item.get("embedding").ok_or("an embedding without numbers")?;
        let index = item.get("index").and_then(Raw::u64).unwrap_or(i as u64);
        found.push((index, vector));
    }
    found.sort_by_key(|(index, _)| *index);
    let kind = match found.first().map(|(_, vector)| vector.kind()) {
        Some(json::Kind::String) => Kind::Base64,
        _ => Kind::Float,
    };
    let expected = if kind == Kind::Base64 { json::Kind::String } else { json::Kind::Array };
    if found.iter().any(|(_, vector)| vector.kind() != expected) {
        return Err("an embedding that is neither numbers nor base64".to_owned());
    }
    let list = found.into_iter().map(|(_, vector)| vector.json(body)).collect();
    response.vectors = vec![Vectors { kind, list }];
    Ok(response)
}

fn encode_response(
    request: &Request,
    response: &Response,
    context: &StreamContext,
) -> Result<Encoded, String> {
    let kind = request.wanted().first().unwrap_or(&Kind::Float);
    let vectors = response.vectors(kind)?;
    let mut dropped = Vec::new();
    let mut out =
        Writer::with_capacity(256 + vectors.iter().map(|vector| vector.bytes().len() + 64).sum::<usize>());
    out.begin_object();
    out.key("object");
    out.string("list");
    out.key("data");
    out.begin_array();
    for (index, vector) in (0..).zip(vectors.iter()) {
        out.begin_object();
        out.key("object");
        out.string("embedding");
        out.key("index");
        out.u64(index);
        out.key("embedding");
        out.json(vector);
        out.end_object();
    }
    out.end_array();
    out.key("model");
    match response.model.is_empty() {
        true => out.string(&context.model),
        false => out.text(&response.model),
    }
    if !response.id.is_empty() {
        out.key("id");
        out.text(&response.id);
    }
    unmodelled(response, (FORM, &["object", "data", "model", "id", "usage"]), &mut out, &mut dropped);
    // Clients rely on it; who does not know the count counts none.
    let tokens = response.usage.map_or(0, |usage| usage.input);
    out.key("usage");
    out.begin_object();
    for name in ["prompt_tokens", "total_tokens"] {
        out.key(name);
        out.u64(tokens);
    }
    out.end_object();
    out.end_object();
    Ok(Encoded { body: out.finish(), dropped })
}
