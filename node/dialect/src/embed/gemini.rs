//! Gemini `embedContent` and `batchEmbedContents`: one request, and several in one.

use super::{
    Content, Embeds, Form, Input, Kind, Request, Response, Task, Vectors,
    members::{attachments, bytes, check_count, names, no_truncation, no_user, unmodelled},
    response::cost,
    task::Word,
};
use crate::{
    Edits, Encoded, Envelope, Refusal, StreamContext, Target,
    body::Body,
    edit,
    gemini::camel,
    ir::{Json, Text, Usage},
    json::{self, Raw, Writer, unescape},
    read::{self, Path, ROOT},
};
use bytes::Bytes;

/// As many requests as a batch may have.
const BATCH_MAX: usize = 100;

/// The codec of `embedContent`.
pub(super) struct Gemini;

/// The codec of `batchEmbedContents`.
pub(super) struct GeminiBatch;

impl Embeds for Gemini {
    fn decode_request(&self, body: &Envelope) -> Result<Request, Refusal> {
        let mut request = Request::new(Form::Gemini);
        request.inputs = vec![read_input(Raw::from_valid(body.body().trim_ascii()), &ROOT, body.body())?];
        Ok(request)
    }

    fn encode_request(&self, request: &Request, target: &Target<'_>) -> Result<Encoded, Refusal> {
        check_count(request, 1)?;
        request.plain_kind()?;
        let [input] = &request.inputs[..] else { return Ok(Encoded::default()) };
        let mut body = Body::without_model(target, bytes(request));
        write_input(request, input, &mut body)?;
        write_rest(request, Form::Gemini, &mut body);
        Ok(body.finish())
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
        let first = response.first(&Kind::Float)?;
        encode_response(response, |_, out| {
            out.key("embedding");
            write_vector(&first, out);
        })
    }

    fn usage_member(&self) -> &'static str {
        USAGE
    }

    fn usage(&self, member: Raw<'_>) -> Option<Usage> {
        usage(member)
    }
}

impl Embeds for GeminiBatch {
    fn decode_request(&self, body: &Envelope) -> Result<Request, Refusal> {
        let mut request = Request::new(Form::GeminiBatch);
        let mut requests = None;
        for member in body.members().filter(|member| !member.value.is_null()) {
            match &*camel(member.key) {
                "requests" => requests = Some(member.value),
                "model" | "fallbacks" => {}
                _ => read::attach(&mut request.attachments, Form::GeminiBatch.words(), &member, body.body()),
            }
        }
        let path = ROOT.member("requests");
        let requests = path.array(ROOT.required(requests, "requests")?)?.enumerate();
        let read = |(i, item)| read_input(item, &path.element(i), body.body());
        request.inputs = requests.map(read).collect::<Result<_, _>>()?;
        if request.inputs.is_empty() {
            return Err(path.refuse("is empty"));
        }
        Ok(request)
    }

    /// The target's parameters stand in each request: none has a meaning for the batch.
    fn encode_request(&self, request: &Request, target: &Target<'_>) -> Result<Encoded, Refusal> {
        check_count(request, BATCH_MAX)?;
        request.plain_kind()?;
        let bare = Target { params: &[], ..target.clone() };
        let mut batch = Body::without_model(&bare, bytes(request));
        if batch.member("requests") {
            batch.out.begin_array();
            for input in &request.inputs {
                let mut body = Body::without_model(target, 256);
                if body.member("model") {
                    body.out.string(&format!("models/{}", target.model));
                }
                write_input(request, input, &mut body)?;
                let one = body.finish();
                batch.out.raw(&one.body);
                one.dropped.iter().for_each(|path| batch.drop(path));
            }
            batch.out.end_array();
        }
        write_rest(request, Form::GeminiBatch, &mut batch);
        Ok(batch.finish())
    }

    fn inputs_max(&self) -> usize {
        BATCH_MAX
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
        encode_response(response, |vectors, out| {
            out.key("embeddings");
            out.begin_array();
            vectors.iter().for_each(|vector| write_vector(vector, out));
            out.end_array();
        })
    }

    fn usage_member(&self) -> &'static str {
        USAGE
    }

    fn usage(&self, member: Raw<'_>) -> Option<Usage> {
        usage(member)
    }
}

/// Sets the model in bodies that name it, as those of the batch must.
pub(super) fn rename(body: &Envelope, model: &str, edits: &mut Edits) {
    let name = edit::string(&format!("models/{model}"));
    let requests = body.get("requests").into_iter().flat_map(Raw::elements);
    let named = requests.filter_map(|request| request.get("model"));
    for model in body.get("model").into_iter().chain(named) {
        edits.replace(body, model, name.bytes().clone());
    }
}

/// One request. What is said in `embedContentConfig` counts where it is not said beside it.
fn read_input(value: Raw<'_>, path: &Path<'_>, owner: &Bytes) -> Result<Input, Refusal> {
    let (mut content, mut config, mut input) = (None, None, Input::new(Content::Text(Text::default())));
    for member in path.object(value)? {
        let key = unescape(member.key);
        let at = path.member(&key);
        match &*camel(member.key) {
            "model" | "fallbacks" => {}
            "content" => content = Some(read_content(member.value, &at, owner)?),
            "embedContentConfig" => config = Some(member),
            name if read_setting(name, member.value, (&at, owner), &mut input)? => {}
            _ => read::attach(&mut input.attachments, Form::Gemini.words(), &member, owner),
        }
    }
    input.content = path.required(content, "content")?;
    if let Some(config) = config {
        let key = unescape(config.key);
        let at = path.member(&key);
        let mut inner = Input::new(Content::Text(Text::default()));
        for member in at.object(config.value)? {
            let inner_key = unescape(member.key);
            if !read_setting(&camel(member.key), member.value, (&at.member(&inner_key), owner), &mut inner)? {
                let list = &mut input.attachments;
                read::attach_inner(list, Form::Gemini.words(), "embedContentConfig", &member, owner);
            }
        }
        input.task = input.task.or(inner.task);
        input.title = input.title.or(inner.title);
        input.dimensions = input.dimensions.or(inner.dimensions);
    }
    Ok(input)
}

/// False if it is none of them.
fn read_setting(
    name: &str,
    value: Raw<'_>,
    (path, owner): (&Path<'_>, &Bytes),
    input: &mut Input,
) -> Result<bool, Refusal> {
    match name {
        "taskType" => input.task = Task::from_gemini(path.text(value, owner)?),
        "title" => input.title = Some(path.text(value, owner)?),
        "outputDimensionality" => input.dimensions = Some(path.whole(value)?),
        _ => return Ok(false),
    }
    Ok(true)
}

/// Texts alone are one text, as the vendor takes them; what else there is stays as it is.
fn read_content(value: Raw<'_>, path: &Path<'_>, owner: &Bytes) -> Result<Content, Refusal> {
    let members = path.object(value)?;
    let parts = members.iter().find(|member| member.is("parts"));
    let parts = path.required(parts, "parts")?.value;
    let at = path.member("parts");
    let mut texts = Vec::new();
    for (i, part) in at.array(parts)?.enumerate() {
        let at = at.element(i);
        match &at.object(part)?[..] {
            [text] if text.is("text") => texts.push(at.member("text").text(text.value, owner)?),
            _ => return Ok(Content::Own(value.json(owner))),
        }
    }
    match &texts[..] {
        [] => Err(at.refuse("is empty")),
        [text] => Ok(Content::Text(text.clone())),
        texts => Ok(Content::Text(Text::join(texts, "\\n"))),
    }
}

/// Whether the client speaks the vendor's words.
fn is_own(request: &Request) -> bool {
    request.form.words() == Form::Gemini.words()
}

fn write_input(request: &Request, input: &Input, body: &mut Body<'_>) -> Result<(), Refusal> {
    let own = is_own(request);
    if body.member("content") {
        match &input.content {
            Content::Own(content) if own => body.out.json(content),
            _ => {
                let text = request.text(input)?;
                body.out.begin_object();
                body.out.key("parts");
                body.out.begin_array();
                body.out.begin_object();
                body.out.key("text");
                body.out.text(text);
                body.out.end_object();
                body.out.end_array();
                body.out.end_object();
            }
        }
    }
    write_task(request, input, body);
    if let Some(title) = &input.title
        && body.member("title")
    {
        body.out.text(title);
    }
    if let Some(dimensions) = input.dimensions
        && body.member("outputDimensionality")
    {
        body.out.u64(dimensions);
    }
    if own {
        input.attachments.iter().for_each(|attachment| body.attachment(attachment, attachment.dialect));
    }
    Ok(())
}

fn write_task(request: &Request, input: &Input, body: &mut Body<'_>) {
    let Some(task) = &input.task else { return };
    let word = match (task.gemini(), task) {
        (Word::Exact(word) | Word::Near(word), _) => Text::fixed(word),
        (Word::None, Task::Other(word)) if is_own(request) => word.clone(),
        (Word::None, _) => return body.drop(names(request.form).task),
    };
    if body.member("taskType") {
        body.out.text(&word);
    }
}

/// What is said of the whole request.
fn write_rest(request: &Request, own: Form, body: &mut Body<'_>) {
    no_user(request, body);
    no_truncation(request, body);
    attachments(request, own, body);
}

const USAGE: &str = "usageMetadata";

fn usage(member: Raw<'_>) -> Option<Usage> {
    let count = |name| member.get(name).and_then(Raw::u64);
    count("promptTokenCount").or_else(|| count("totalTokenCount")).map(cost)
}

/// Either answer. Where tokens are counted for each text they are added up.
fn decode_response(body: &Bytes) -> Result<Response, String> {
    let root = Raw::parse(body).map_err(|error| format!("not JSON: {error}"))?;
    let mut response = Response::default();
    let (mut one, mut several, mut counted) = (None, None, None);
    for member in root.members() {
        match &*unescape(member.key) {
            "embedding" => one = Some(member.value),
            "embeddings" => several = Some(member.value),
            USAGE => response.usage = usage(member.value),
            _ if member.value.is_null() => {}
            _ => read::attach(&mut response.attachments, Form::Gemini.words(), &member, body),
        }
    }
    let mut list = Vec::new();
    for item in one.into_iter().chain(several.into_iter().flat_map(Raw::elements)) {
        let values = item.get("values").filter(|values| values.kind() == json::Kind::Array);
        list.push(values.ok_or("an embedding without values")?.json(body));
        if let Some(tokens) = item.get("statistics").and_then(|counts| counts.get("tokenCount")?.u64()) {
            counted = Some(u64::saturating_add(counted.unwrap_or(0), tokens));
        }
    }
    if list.is_empty() {
        return Err("an answer without embeddings".to_owned());
    }
    response.usage = response.usage.or(counted.map(cost));
    response.vectors = vec![Vectors { kind: Kind::Float, list }];
    Ok(response)
}

fn encode_response(response: &Response, write: impl FnOnce(&[Json], &mut Writer)) -> Result<Encoded, String> {
    let vectors = response.vectors(&Kind::Float)?;
    let mut dropped = Vec::new();
    let mut out =
        Writer::with_capacity(128 + vectors.iter().map(|vector| vector.bytes().len() + 16).sum::<usize>());
    out.begin_object();
    write(&vectors, &mut out);
    unmodelled(response, (Form::Gemini, &["embedding", "embeddings", USAGE]), &mut out, &mut dropped);
    if let Some(usage) = response.usage {
        out.key(USAGE);
        out.begin_object();
        out.key("promptTokenCount");
        out.u64(usage.input);
        out.end_object();
    }
    out.end_object();
    Ok(Encoded { body: out.finish(), dropped })
}

fn write_vector(vector: &Json, out: &mut Writer) {
    out.begin_object();
    out.key("values");
    out.json(vector);
    out.end_object();
}
