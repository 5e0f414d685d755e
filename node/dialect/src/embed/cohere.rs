//! Cohere v2 `embed`, and the bodies of Cohere's models on Bedrock, which are nearly the same.

use super::{
    Content, Embeds, Form, Input, Kind, Request, Response, Task, Truncation, Vectors,
    members::{attachments, bytes, check_count, names, no_titles, no_user, unmodelled},
    response::cost,
    task::Word,
};
use crate::{
    Encoded, Envelope, Refusal, StreamContext, Target,
    body::Body,
    ir::{Text, Usage},
    json::{self, Raw, Writer, unescape},
    read::{self, Path, ROOT},
};
use bytes::Bytes;

/// As many inputs as a request may have.
const INPUTS_MAX: usize = 96;

/// The vendor demands to be told what the vectors are for. Most texts of whom does not say it are documents.
const DEFAULT_TASK: &str = "search_document";

/// The codec.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cohere {
    /// Of the vendor.
    Own,
    /// Of its models on Bedrock.
    OnBedrock,
}

impl Embeds for Cohere {
    fn decode_request(&self, body: &Envelope) -> Result<Request, Refusal> {
        decode(self.form(), body)
    }

    fn encode_request(&self, request: &Request, target: &Target<'_>) -> Result<Encoded, Refusal> {
        self.encode(request, target)
    }

    fn inputs_max(&self) -> usize {
        INPUTS_MAX
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
        self.answer(request, response, context)
    }

    fn usage_member(&self) -> &'static str {
        "meta"
    }

    fn usage(&self, member: Raw<'_>) -> Option<Usage> {
        usage(member)
    }
}

fn decode(form: Form, body: &Envelope) -> Result<Request, Refusal> {
    let owner = body.body();
    let mut request = Request::new(form);
    let (mut contents, mut dimensions, mut task) = (None, None, None);
    for member in body.members().filter(|member| !member.value.is_null()) {
        let name = unescape(member.key);
        let path = ROOT.member(&name);
        match &*name {
            "model" | "fallbacks" => {}
            "texts" | "images" | "inputs" if contents.is_some() => {
                return Err(path.refuse("must be the only one of texts, images and inputs"));
            }
            "texts" => contents = Some(strings(member.value, &path, owner, Content::Text)?),
            "images" => contents = Some(strings(member.value, &path, owner, Content::Picture)?),
            "inputs" => {
                let items = path.array(member.value)?.enumerate();
                let read = |(i, item)| read_input(item, &path.element(i), owner);
                contents = Some(items.map(read).collect::<Result<_, _>>()?);
            }
            "input_type" => task = Some(Task::from_cohere(path.text(member.value, owner)?)),
            "output_dimension" => dimensions = Some(path.whole(member.value)?),
            "embedding_types" => request.kinds = read_kinds(member.value, &path, owner)?,
            "truncate" => request.truncation = Some(read_truncation(member.value, &path)?),
            _ => read::attach(&mut request.attachments, form.words(), &member, owner),
        }
    }
    let contents: Vec<Content> = ROOT.required(contents, "texts")?;
    let whole = |content| Input { task: task.clone(), dimensions, ..Input::new(content) };
    request.inputs = contents.into_iter().map(whole).collect();
    Ok(request)
}

fn strings(
    value: Raw<'_>,
    path: &Path<'_>,
    owner: &Bytes,
    content: fn(Text) -> Content,
) -> Result<Vec<Content>, Refusal> {
    let items = path.array(value)?.enumerate();
    items.map(|(i, item)| path.element(i).text(item, owner).map(content)).collect()
}

/// Texts alone are one text, a picture alone is one picture; both together stay as they are.
fn read_input(value: Raw<'_>, path: &Path<'_>, owner: &Bytes) -> Result<Content, Refusal> {
    let own = || Ok(Content::Own(value.json(owner)));
    let members = path.object(value)?;
    let content = path.required(members.iter().find(|member| member.is("content")), "content")?;
    if members.len() > 1 {
        return own();
    }
    let at = path.member("content");
    let (mut texts, mut pictures) = (Vec::new(), Vec::new());
    for (i, part) in at.array(content.value)?.enumerate() {
        let at = at.element(i);
        let (kind, members) = at.typed(part)?;
        match (&*kind, &members[..]) {
            ("text", [text]) if text.is("text") => texts.push(at.member("text").text(text.value, owner)?),
            ("image_url", [image]) if image.is("image_url") => pictures.push(image.value),
            _ => return own(),
        }
    }
    match (&texts[..], &pictures[..]) {
        ([], []) => Err(at.refuse("is empty")),
        ([text], []) => Ok(Content::Text(text.clone())),
        (texts, []) => Ok(Content::Text(Text::join(texts, "\\n"))),
        ([], [picture]) => match picture.get("url").unwrap_or(*picture).text(owner) {
            Some(url) if picture.members().count() < 2 => Ok(Content::Picture(url)),
            _ => own(),
        },
        _ => own(),
    }
}

fn read_kinds(value: Raw<'_>, path: &Path<'_>, owner: &Bytes) -> Result<Vec<Kind>, Refusal> {
    let mut kinds = Vec::new();
    for (i, item) in path.array(value)?.enumerate() {
        let word = path.element(i).text(item, owner)?;
        let kind = match word.plain().as_ref() {
            "float" => Kind::Float,
            "base64" => Kind::Base64,
            _ => Kind::Own(word),
        };
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    Ok(kinds)
}

fn read_truncation(value: Raw<'_>, path: &Path<'_>) -> Result<Truncation, Refusal> {
    match value.string().as_deref() {
        Some("NONE") => Ok(Truncation::Refuse),
        Some("START" | "LEFT") => Ok(Truncation::Start),
        Some("END" | "RIGHT") => Ok(Truncation::End),
        _ => Err(path.refuse("must be NONE, START or END")),
    }
}

impl Cohere {
    const fn form(self) -> Form {
        match self {
            Self::Own => Form::Cohere,
            Self::OnBedrock => Form::CohereOnBedrock,
        }
    }

    fn encode(self, request: &Request, target: &Target<'_>) -> Result<Encoded, Refusal> {
        check_count(request, INPUTS_MAX)?;
        let mut body = match self {
            Self::Own => Body::new(target, bytes(request)),
            Self::OnBedrock => Body::without_model(target, bytes(request)),
        };
        self.write_inputs(request, &mut body)?;
        self.write_task(request, &mut body)?;
        self.write_kinds(request, &mut body)?;
        if let Some(dimensions) = request.dimensions()?
            && body.member("output_dimension")
        {
            body.out.u64(dimensions);
        }
        if let Some(truncation) = request.truncation
            && body.member("truncate")
        {
            let newer = self == Self::OnBedrock && target.model.contains("embed-v4");
            body.out.string(match truncation {
                Truncation::Refuse => "NONE",
                Truncation::Start if newer => "LEFT",
                Truncation::Start => "START",
                Truncation::End if newer => "RIGHT",
                Truncation::End => "END",
            });
        }
        no_user(request, &mut body);
        no_titles(request, &mut body);
        attachments(request, self.form(), &mut body);
        Ok(body.finish())
    }

    /// Whether the client speaks the vendor's words.
    fn is_own(self, request: &Request) -> bool {
        request.form.is_kin(self.form())
    }

    fn write_inputs(self, request: &Request, body: &mut Body<'_>) -> Result<(), Refusal> {
        let all = |is: fn(&Content) -> bool| request.inputs.iter().all(|input| is(&input.content));
        if self.is_own(request) && !all(|content| matches!(content, Content::Text(_))) {
            let pictures = all(|content| matches!(content, Content::Picture(_)));
            if body.member(if pictures { "images" } else { "inputs" }) {
                body.out.begin_array();
                for input in &request.inputs {
                    match &input.content {
                        Content::Picture(url) if pictures => body.out.text(url),
                        Content::Picture(url) => self.write_input(url, &mut body.out),
                        Content::Own(json) => body.out.json(json),
                        _ => write_part(("text", "text"), request.text(input)?, &mut body.out),
                    }
                }
                body.out.end_array();
            }
            return Ok(());
        }
        if body.member("texts") {
            body.out.begin_array();
            for input in &request.inputs {
                body.out.text(request.text(input)?);
            }
            body.out.end_array();
        }
        Ok(())
    }

    /// A picture among others; on Bedrock the URL stands without an object around it.
    fn write_input(self, url: &Text, out: &mut Writer) {
        if self == Self::OnBedrock {
            return write_part(("image_url", "image_url"), url, out);
        }
        open_part("image_url", out);
        out.key("image_url");
        out.begin_object();
        out.key("url");
        out.text(url);
        out.end_object();
        close_part(out);
    }

    fn write_task(self, request: &Request, body: &mut Body<'_>) -> Result<(), Refusal> {
        let task = request.task()?;
        let word = task.map_or(Word::Exact(DEFAULT_TASK), Task::cohere);
        if !matches!(word, Word::Exact(_)) && !self.is_own(request) {
            body.drop(names(request.form).task);
        }
        if body.member("input_type") {
            match (word, task) {
                (Word::Exact(word) | Word::Near(word), _) => body.out.string(word),
                (Word::None, Some(Task::Other(word))) if self.is_own(request) => body.out.text(word),
                (Word::None, _) => body.out.string(DEFAULT_TASK),
            }
        }
        Ok(())
    }

    /// The vendor demands a kind; its models on Bedrock give floats by default, and have no base64.
    fn write_kinds(self, request: &Request, body: &mut Body<'_>) -> Result<(), Refusal> {
        if !self.is_own(request) {
            request.plain_kind()?;
        }
        let mut words: Vec<&Text> = Vec::new();
        static FLOAT: Text = Text::fixed("float");
        static BASE64: Text = Text::fixed("base64");
        for kind in request.wanted() {
            let word = match kind {
                Kind::Base64 if self == Self::Own => &BASE64,
                Kind::Float | Kind::Base64 => &FLOAT,
                Kind::Own(word) => word,
            };
            if !words.contains(&word) {
                words.push(word);
            }
        }
        let is_default = request.kinds.is_empty() && self == Self::OnBedrock;
        if !is_default && body.member("embedding_types") {
            body.out.begin_array();
            words.into_iter().for_each(|word| body.out.text(word));
            body.out.end_array();
        }
        Ok(())
    }

    fn answer(
        self,
        request: &Request,
        response: &Response,
        context: &StreamContext,
    ) -> Result<Encoded, String> {
        let mut dropped = Vec::new();
        let size = response.vectors.iter().flat_map(|vectors| &vectors.list).map(|one| one.bytes().len() + 1);
        let mut out = Writer::with_capacity(size.sum::<usize>() + bytes(request));
        out.begin_object();
        out.key("id");
        match response.id.is_empty() {
            true => out.string(&context.request_id),
            false => out.text(&response.id),
        }
        write_texts(request, &mut out);
        // Models on Bedrock give a list alone where no kind was asked for.
        let bare = self == Self::OnBedrock && request.kinds.is_empty();
        out.key("embeddings");
        if bare {
            write_vectors(response, &Kind::Float, &mut out)?;
        } else {
            out.begin_object();
            for kind in request.wanted() {
                match kind {
                    Kind::Float => out.key("float"),
                    Kind::Base64 => out.key("base64"),
                    Kind::Own(word) => out.key_escaped(word.escaped()),
                }
                write_vectors(response, kind, &mut out)?;
            }
            out.end_object();
        }
        out.key("response_type");
        out.string(if bare { "embeddings_floats" } else { "embeddings_by_type" });
        let own = ["id", "texts", "images", "embeddings", "response_type", "meta"];
        unmodelled(response, (self.form(), &own), &mut out, &mut dropped);
        if self == Self::Own {
            write_meta(response.usage, &mut out);
        }
        out.end_object();
        Ok(Encoded { body: out.finish(), dropped })
    }
}

fn open_part(kind: &str, out: &mut Writer) {
    out.begin_object();
    out.key("content");
    out.begin_array();
    out.begin_object();
    out.key("type");
    out.string(kind);
}

fn close_part(out: &mut Writer) {
    out.end_object();
    out.end_array();
    out.end_object();
}

fn write_part((kind, name): (&str, &str), text: &Text, out: &mut Writer) {
    open_part(kind, out);
    out.key(name);
    out.text(text);
    close_part(out);
}

/// The vendor says the texts again.
fn write_texts(request: &Request, out: &mut Writer) {
    let text = |input: &Input| matches!(input.content, Content::Text(_));
    if !request.inputs.iter().all(text) {
        return;
    }
    out.key("texts");
    out.begin_array();
    for input in &request.inputs {
        if let Content::Text(text) = &input.content {
            out.text(text);
        }
    }
    out.end_array();
}

fn write_vectors(response: &Response, kind: &Kind, out: &mut Writer) -> Result<(), String> {
    out.begin_array();
    response.vectors(kind)?.iter().for_each(|vector| out.json(vector));
    out.end_array();
    Ok(())
}

fn write_meta(usage: Option<Usage>, out: &mut Writer) {
    out.key("meta");
    out.begin_object();
    out.key("api_version");
    out.begin_object();
    out.key("version");
    out.string("2");
    out.end_object();
    if let Some(usage) = usage {
        out.key("billed_units");
        out.begin_object();
        out.key("input_tokens");
        out.u64(usage.input);
        out.end_object();
    }
    out.end_object();
}

/// What is billed; the tokens of pictures may stand apart.
fn usage(meta: Raw<'_>) -> Option<Usage> {
    let count = |of: &str, name| meta.get(of)?.get(name).and_then(Raw::u64);
    let billed = |name| count("billed_units", name);
    let apart = match (billed("image_tokens"), billed("text_tokens")) {
        (None, None) => None,
        (images, texts) => Some(images.unwrap_or(0).saturating_add(texts.unwrap_or(0))),
    };
    billed("input_tokens").max(apart).or_else(|| count("tokens", "input_tokens")).map(cost)
}

/// Members that only say again what was asked.
const ECHOES: [&str; 5] = ["texts", "images", "inputs", "response_type", "embedding_types"];

fn decode_response(body: &Bytes) -> Result<Response, String> {
    let root = Raw::parse(body).map_err(|error| format!("not JSON: {error}"))?;
    let mut response = Response::default();
    let mut embeddings = None;
    for member in root.members().filter(|member| !member.value.is_null()) {
        match &*unescape(member.key) {
            "id" => response.id = member.value.text(body).unwrap_or_default(),
            "embeddings" => embeddings = Some(member.value),
            "meta" => {
                response.usage = usage(member.value);
                let list = &mut response.attachments;
                for inner in member.value.members() {
                    let known = ["api_version", "billed_units", "tokens", "cached_tokens"];
                    if !known.into_iter().any(|name| inner.is(name)) && !inner.value.is_null() {
                        read::attach_inner(list, Form::Cohere.words(), "meta", &inner, body);
                    }
                }
            }
            name if ECHOES.contains(&name) => {}
            _ => read::attach(&mut response.attachments, Form::Cohere.words(), &member, body),
        }
    }
    let embeddings: Raw<'_> = embeddings.ok_or("an answer without embeddings")?;
    if embeddings.kind() == json::Kind::Array {
        response.vectors = vec![read_vectors(Kind::Float, embeddings, body)?];
        return Ok(response);
    }
    for member in embeddings.members().filter(|member| !member.value.is_null()) {
        let kind = match &*unescape(member.key) {
            "float" => Kind::Float,
            "base64" => Kind::Base64,
            _ => Kind::Own(Text::from_escaped(Bytes::copy_from_slice(member.key))),
        };
        response.vectors.push(read_vectors(kind, member.value, body)?);
    }
    if response.vectors.is_empty() {
        return Err("an answer without embeddings".to_owned());
    }
    Ok(response)
}

fn read_vectors(kind: Kind, value: Raw<'_>, owner: &Bytes) -> Result<Vectors, String> {
    let expected = if kind == Kind::Base64 { json::Kind::String } else { json::Kind::Array };
    if value.kind() != json::Kind::Array || value.elements().any(|item| item.kind() != expected) {
        return Err("embeddings that are no vectors".to_owned());
    }
    Ok(Vectors { kind, list: value.elements().map(|item| item.json(owner)).collect() })
}
