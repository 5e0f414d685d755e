//! Reads the top level of a request.

use super::messages::Messages;
use crate::{
    Dialect, Envelope, Refusal,
    ir::{Attachment, Json, OutputFormat, Reasoning, Request, Role, Text, Tool, ToolChoice, ToolKind},
    json::{Kind, Member, Raw, Writer, unescape},
    read::{self, Fields, Path, ROOT},
};
use bytes::Bytes;

const SELF: Dialect = Dialect::OpenAiResponses;

/// What the vendor takes where a client asks for reasoning and does not say how much.
const EFFORT: &str = "medium";

/// Reads a request.
pub(in crate::openai_responses) fn decode(envelope: &Envelope) -> Result<Request, Refusal> {
    let mut draft = Draft::new(envelope.body());
    for member in envelope.members().filter(|member| !member.value.is_null()) {
        let name = unescape(member.key);
        if !draft.common(&name, &member)? && !draft.output(&name, &member)? {
            draft.rest(&name, &member)?;
        }
    }
    draft.finish()
}

struct Draft<'a, 'v> {
    owner: &'a Bytes,
    request: Request,
    instructions: Option<Text>,
    input: Option<Raw<'v>>,
    wants_logprobs: bool,
    top_logprobs: Option<u64>,
    safety_identifier: Option<(Text, Json)>,
    /// What the answer is to include and we do not model.
    include: Vec<Raw<'v>>,
}

impl<'a, 'v> Draft<'a, 'v> {
    fn new(owner: &'a Bytes) -> Self {
        Self {
            owner,
            request: Request::default(),
            instructions: None,
            input: None,
            wants_logprobs: false,
            top_logprobs: None,
            safety_identifier: None,
            include: Vec::new(),
        }
    }

    /// The members that most requests have. False if it is not one of them.
    fn common(&mut self, name: &str, member: &Member<'v>) -> Result<bool, Refusal> {
        let (path, value, owner) = (ROOT.member(name), member.value, self.owner);
        let request = &mut self.request;
        match name {
            "model" => request.model = path.text(value, owner)?,
            "input" => self.input = Some(value),
            "instructions" => self.instructions = Some(path.text(value, owner)?),
            "stream" => request.stream = path.boolean(value)?,
            "max_output_tokens" => request.max_tokens = Some(path.whole(value)?),
            "temperature" => request.sampling.temperature = Some(path.number(value, owner)?),
            "top_p" => request.sampling.top_p = Some(path.number(value, owner)?),
            "tools" => {
                for (i, tool) in path.array(value)?.enumerate() {
                    request.tools.push(read_tool(tool, &path.element(i), owner)?);
                }
            }
            "tool_choice" => request.tool_choice = Some(read_tool_choice(value, &path, owner)?),
            "parallel_tool_calls" => request.parallel_tools = Some(path.boolean(value)?),
            "reasoning" => request.reasoning = read_reasoning(value, &path, owner)?,
            "user" => request.user = Some(path.text(value, owner)?),
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// The members about the form of the answer, and the caller. False if it is not one of them.
    fn output(&mut self, name: &str, member: &Member<'v>) -> Result<bool, Refusal> {
        let (path, value, owner) = (ROOT.member(name), member.value, self.owner);
        let request = &mut self.request;
        match name {
            "text" => {
                for inner in path.object(value)? {
                    if inner.is("format") {
                        request.output = Some(read_format(inner.value, &path.member("format"), owner)?);
                    } else {
                        read::attach_inner(&mut request.attachments, SELF, "text", &inner, owner);
                    }
                }
            }
            "include" => {
                for (i, what) in path.array(value)?.enumerate() {
                    match &*path.element(i).text(what, owner)?.plain() {
                        // Clients always get it, whatever the provider calls it.
                        "reasoning.encrypted_content" => {}
                        "message.output_text.logprobs" => self.wants_logprobs = true,
                        _ => self.include.push(what),
                    }
                }
            }
            "top_logprobs" => self.top_logprobs = Some(path.whole(value)?).filter(|top| *top > 0),
            "safety_identifier" => {
                self.safety_identifier = Some((path.text(value, owner)?, value.json(owner)));
            }
            // The per-request fallbacks of the gateway: no provider sees them.
            "fallbacks" => {}
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// What is not modelled is kept, unless it says what is so anyway.
    fn rest(&mut self, name: &str, member: &Member<'v>) -> Result<(), Refusal> {
        let (path, value) = (ROOT.member(name), member.value);
        let plain = match name {
            "background" | "store" => !path.boolean(value)?,
            "truncation" => value.is_str("disabled"),
            "stream_options" => path.object(value)?.is_empty(),
            _ => false,
        };
        if !plain {
            read::attach(&mut self.request.attachments, SELF, member, self.owner);
        }
        Ok(())
    }

    fn finish(self) -> Result<Request, Refusal> {
        let mut request = self.request;
        if request.model.is_empty() {
            return Err(ROOT.member("model").refuse("is missing"));
        }
        let mut attach = |name: &'static str, value: Json| {
            request.attachments.push(Attachment { dialect: SELF, name: Text::fixed(name), value });
        };
        if !self.include.is_empty() {
            let mut out = Writer::with_capacity(128);
            out.begin_array();
            self.include.iter().for_each(|what| out.raw(what.bytes()));
            out.end_array();
            attach("include", Json::from_valid(out.finish().into()));
        }
        match (&request.user, self.safety_identifier) {
            (None, Some((text, _))) => request.user = Some(text),
            (Some(_), Some((_, value))) => attach("safety_identifier", value),
            (_, None) => {}
        }
        request.logprobs = self.top_logprobs.or(self.wants_logprobs.then_some(0));
        let mut messages = Messages::new(self.owner);
        if let Some(text) = self.instructions.filter(|text| !text.is_empty()) {
            messages.say(Role::System, text);
        }
        let path = ROOT.member("input");
        match self.input {
            Some(input) if input.kind() == Kind::String => {
                messages.say(Role::User, path.text(input, self.owner)?);
            }
            Some(input) if input.kind() == Kind::Array => {
                for (i, item) in input.elements().enumerate() {
                    messages.read(item, &path.element(i))?;
                }
            }
            Some(_) => return Err(path.refuse("must be a string or an array of items")),
            None if request.attachments.iter().any(says_something) => {}
            None => return Err(path.refuse("is missing")),
        }
        request.messages = messages.finish();
        request.collect_needs();
        Ok(request)
    }
}

/// Whether a member can stand for the input.
fn says_something(attachment: &Attachment) -> bool {
    ["previous_response_id", "conversation", "prompt"].iter().any(|name| attachment.name.is(name))
}

fn read_tool(value: Raw<'_>, path: &Path<'_>, owner: &Bytes) -> Result<Tool, Refusal> {
    let mut fields = Fields::of(value, path, owner)?;
    if !fields.text("type")?.is("function") {
        let kind = ToolKind::Opaque { dialect: SELF, json: value.json(owner) };
        return Ok(Tool { kind, cache: None, attachments: Vec::new() });
    }
    let kind = ToolKind::Function {
        name: fields.text("name")?,
        description: fields.optional_text("description")?,
        parameters: match fields.take("parameters") {
            Some(parameters) => Some(path.member("parameters").object_json(parameters, owner)?),
            None => None,
        },
        strict: match fields.take("strict") {
            Some(strict) => Some(path.member("strict").boolean(strict)?),
            None => None,
        },
    };
    let cache = fields.take("cache_control").map(|cache| cache.json(owner));
    Ok(Tool { kind, cache, attachments: fields.rest(SELF) })
}

/// `"auto"` or `{"type": "function", "name": ...}`; other objects name tools of the vendor.
fn read_tool_choice(value: Raw<'_>, path: &Path<'_>, owner: &Bytes) -> Result<ToolChoice, Refusal> {
    let refuse = || path.refuse("must be none, auto, required, or an object that names a tool");
    if value.kind() == Kind::Object {
        let mut fields = Fields::of(value, path, owner)?;
        return match fields.text("type")?.is("function") {
            true => Ok(ToolChoice::Named(fields.text("name")?)),
            false => Ok(ToolChoice::Opaque(SELF, value.json(owner))),
        };
    }
    match value.string().as_deref() {
        Some("auto") => Ok(ToolChoice::Auto),
        Some("none") => Ok(ToolChoice::None),
        Some("required") => Ok(ToolChoice::Required),
        _ => Err(refuse()),
    }
}

fn read_format(value: Raw<'_>, path: &Path<'_>, owner: &Bytes) -> Result<OutputFormat, Refusal> {
    let (kind, members) = path.typed(value)?;
    match &*kind {
        "text" => Ok(OutputFormat::Text),
        "json_object" => Ok(OutputFormat::JsonObject),
        "json_schema" => path.schema_form(members, owner),
        _ => Err(path.member("type").refuse("must be text, json_object or json_schema")),
    }
}

/// An object that says nothing asks for nothing. `summary: auto` is what we ask for anyway.
fn read_reasoning(value: Raw<'_>, path: &Path<'_>, owner: &Bytes) -> Result<Option<Reasoning>, Refusal> {
    let members = path.object(value)?;
    if members.is_empty() {
        return Ok(None);
    }
    let mut reasoning =
        Reasoning { enabled: true, effort: Some(Text::fixed(EFFORT)), ..Reasoning::default() };
    for member in members {
        match &*unescape(member.key) {
            "effort" => reasoning.effort = Some(path.member("effort").text(member.value, owner)?),
            "summary" if member.value.is_str("auto") => {}
            _ => read::attach(&mut reasoning.attachments, SELF, &member, owner),
        }
    }
    if reasoning.effort.as_ref().is_some_and(|effort| effort.is("none")) {
        (reasoning.enabled, reasoning.effort) = (false, None);
    }
    Ok(Some(reasoning))
}
