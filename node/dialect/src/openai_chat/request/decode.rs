//! Reads the top level of a request.

use super::messages::Messages;
use crate::{
    Dialect, Envelope, Refusal,
    ir::{Features, Json, Message, OutputFormat, Reasoning, Request, Text, Tool, ToolChoice, ToolKind},
    json::{Kind, Member, Raw, unescape},
    read::{self, Path, ROOT},
};
use bytes::Bytes;

const SELF: Dialect = Dialect::OpenAiChat;

/// Whether usage is asked for at the end of a stream.
pub(in crate::openai_chat) fn wants_usage(envelope: &Envelope) -> bool {
    let include = envelope.get("stream_options").and_then(|options| options.get("include_usage"));
    include.and_then(Raw::bool).unwrap_or(false)
}

/// Reads a request.
pub(in crate::openai_chat) fn decode(envelope: &Envelope) -> Result<Request, Refusal> {
    let mut draft = Draft {
        owner: envelope.body(),
        request: Request::default(),
        safety_identifier: None,
        logprobs: None,
        top_logprobs: None,
    };
    let mut messages = None;
    for member in envelope.members() {
        if member.value.is_null() {
            continue;
        }
        let name = unescape(member.key);
        if &*name == "messages" {
            messages = Some(member.value);
        } else if !draft.common(&name, &member)? && !draft.output(&name, &member)? {
            draft.rest(&name, &member);
        }
    }
    let path = ROOT.member("messages");
    let mut reader = Messages::new(envelope.body());
    for (i, message) in path.array(ROOT.required(messages, "messages")?)?.enumerate() {
        reader.read(message, &path.element(i))?;
    }
    draft.request.messages = reader.finish();
    draft.finish()
}

struct Draft<'a> {
    owner: &'a Bytes,
    request: Request,
    safety_identifier: Option<(Text, Json)>,
    logprobs: Option<bool>,
    top_logprobs: Option<u64>,
}

impl Draft<'_> {
    /// The members that most requests have. False if it is not one of them.
    fn common(&mut self, name: &str, member: &Member<'_>) -> Result<bool, Refusal> {
        let (path, value, owner) = (ROOT.member(name), member.value, self.owner);
        let request = &mut self.request;
        match name {
            "model" => request.model = path.text(value, owner)?,
            "stream" => request.stream = path.boolean(value)?,
            "max_completion_tokens" => request.max_tokens = Some(path.whole(value)?),
            "max_tokens" => {
                let tokens = path.whole(value)?;
                request.max_tokens.get_or_insert(tokens);
            }
            "temperature" => request.sampling.temperature = Some(path.number(value, owner)?),
            "top_p" => request.sampling.top_p = Some(path.number(value, owner)?),
            "top_k" => request.sampling.top_k = Some(path.number(value, owner)?),
            "frequency_penalty" => request.sampling.frequency_penalty = Some(path.number(value, owner)?),
            "presence_penalty" => request.sampling.presence_penalty = Some(path.number(value, owner)?),
            "seed" => request.sampling.seed = Some(path.number(value, owner)?),
            "stop" if value.kind() == Kind::String => request.stop = vec![path.text(value, owner)?],
            "stop" => {
                for (i, text) in path.array(value)?.enumerate() {
                    request.stop.push(path.element(i).text(text, owner)?);
                }
            }
            "tools" => {
                for (i, tool) in path.array(value)?.enumerate() {
                    request.tools.push(read_tool(tool, &path.element(i), owner)?);
                }
            }
            "functions" => {
                for (i, function) in path.array(value)?.enumerate() {
                    request.tools.push(read_function(function, &path.element(i), owner)?);
                }
            }
            "tool_choice" | "function_call" => {
                request.tool_choice = Some(read_tool_choice(value, &path, owner)?);
            }
            "parallel_tool_calls" => request.parallel_tools = Some(path.boolean(value)?),
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// The members about the form of the answer, and the caller. False if it is not one of them.
    fn output(&mut self, name: &str, member: &Member<'_>) -> Result<bool, Refusal> {
        let (path, value, owner) = (ROOT.member(name), member.value, self.owner);
        let request = &mut self.request;
        match name {
            "response_format" => request.output = Some(read_output(value, &path, owner)?),
            "reasoning_effort" => {
                let effort = path.text(value, owner)?;
                let enabled = !effort.is("none");
                let effort = enabled.then_some(effort);
                request.reasoning = Some(Reasoning { enabled, effort, ..Reasoning::default() });
            }
            "user" => request.user = Some(path.text(value, owner)?),
            "safety_identifier" => {
                self.safety_identifier = Some((path.text(value, owner)?, value.json(owner)));
            }
            "stream_options" => {
                let members = path.object(value)?;
                if members.iter().any(|inner| !inner.is("include_usage")) {
                    read::attach(&mut request.attachments, SELF, member, owner);
                }
            }
            "n" => {
                if path.whole(value)? > 1 {
                    request.needs.add(Features::CHOICES);
                    read::attach(&mut request.attachments, SELF, member, owner);
                }
            }
            "logprobs" => self.logprobs = Some(path.boolean(value)?),
            "top_logprobs" => self.top_logprobs = Some(path.whole(value)?),
            // The per-request fallbacks of the gateway: no provider sees them.
            "fallbacks" => {}
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// What is not modelled is kept; some of it needs a feature.
    fn rest(&mut self, name: &str, member: &Member<'_>) {
        let request = &mut self.request;
        match name {
            "audio" => request.needs.add(Features::AUDIO_OUTPUT),
            "modalities" if member.value.elements().any(|m| m.is_str("audio")) => {
                request.needs.add(Features::AUDIO_OUTPUT);
            }
            "modalities" if member.value.elements().all(|m| m.is_str("text")) => return,
            "web_search_options" => request.needs.add(Features::SERVER_TOOLS),
            _ => {}
        }
        read::attach(&mut request.attachments, SELF, member, self.owner);
    }

    fn finish(self) -> Result<Request, Refusal> {
        let mut request = self.request;
        if request.model.is_empty() {
            return Err(ROOT.member("model").refuse("is missing"));
        }
        match (&request.user, self.safety_identifier) {
            (None, Some((text, _))) => request.user = Some(text),
            (Some(_), Some((_, value))) => {
                let name = Text::fixed("safety_identifier");
                request.attachments.push(crate::ir::Attachment { dialect: SELF, name, value });
            }
            (_, None) => {}
        }
        request.logprobs = match (self.logprobs, self.top_logprobs) {
            (Some(true), top) => Some(top.unwrap_or(0)),
            // Some providers ask for no switch beside the number.
            (None, Some(top)) if top > 0 => Some(top),
            _ => None,
        };
        // A spoken turn is known by its id alone, and only to the vendor.
        let spoken = |message: &Message| message.attachments.iter().any(|a| a.name.is("audio"));
        if request.messages.iter().any(spoken) {
            request.needs.add(Features::AUDIO_OUTPUT);
        }
        request.collect_needs();
        Ok(request)
    }
}

fn read_tool(value: Raw<'_>, path: &Path<'_>, owner: &Bytes) -> Result<Tool, Refusal> {
    let (kind, members) = path.typed(value)?;
    if &*kind != "function" {
        let kind = ToolKind::Opaque { dialect: SELF, json: value.json(owner) };
        return Ok(Tool { kind, cache: None, attachments: Vec::new() });
    }
    let function = members.iter().find(|member| member.is("function")).map(|member| member.value);
    let function = path.required(function, "function")?;
    let mut tool = read_function(function, &path.member("function"), owner)?;
    for member in &members {
        match &*unescape(member.key) {
            "function" => {}
            "cache_control" => tool.cache = Some(member.value.json(owner)),
            _ => read::attach(&mut tool.attachments, SELF, member, owner),
        }
    }
    Ok(tool)
}

fn read_function(value: Raw<'_>, path: &Path<'_>, owner: &Bytes) -> Result<Tool, Refusal> {
    let (mut name, mut description, mut parameters, mut strict) = (None, None, None, None);
    let (mut cache, mut attachments) = (None, Vec::new());
    for member in path.object(value)? {
        let key = unescape(member.key);
        let at = path.member(&key);
        match &*key {
            "name" => name = Some(at.text(member.value, owner)?),
            "description" => description = Some(at.text(member.value, owner)?),
            "parameters" => parameters = Some(at.object_json(member.value, owner)?),
            "strict" => strict = Some(at.boolean(member.value)?),
            "cache_control" => cache = Some(member.value.json(owner)),
            _ => read::attach_inner(&mut attachments, SELF, "function", &member, owner),
        }
    }
    let name = path.required(name, "name")?;
    Ok(Tool { kind: ToolKind::Function { name, description, parameters, strict }, cache, attachments })
}

/// `"auto"`, `{"type": "function", "function": {"name": ...}}`, or the older `{"name": ...}`.
fn read_tool_choice(value: Raw<'_>, path: &Path<'_>, owner: &Bytes) -> Result<ToolChoice, Refusal> {
    if let Some(word) = value.string() {
        return match &*word {
            "auto" => Ok(ToolChoice::Auto),
            "none" => Ok(ToolChoice::None),
            "required" | "any" => Ok(ToolChoice::Required),
            _ => Err(path.refuse("must be none, auto, required, or an object that names a tool")),
        };
    }
    if value.kind() != Kind::Object {
        return Err(path.refuse("must be none, auto, required, or an object that names a tool"));
    }
    let kind = value.get("type");
    if kind.is_some_and(|kind| !kind.is_str("function")) {
        return Ok(ToolChoice::Opaque(SELF, value.json(owner)));
    }
    let holder = if kind.is_some() { value.get("function") } else { Some(value) };
    let name = holder.and_then(|holder| holder.get("name")).and_then(|name| name.text(owner));
    name.map(ToolChoice::Named).ok_or_else(|| path.refuse("must name the function"))
}

fn read_output(value: Raw<'_>, path: &Path<'_>, owner: &Bytes) -> Result<OutputFormat, Refusal> {
    let (kind, members) = path.typed(value)?;
    match &*kind {
        "text" => Ok(OutputFormat::Text),
        "json_object" => Ok(OutputFormat::JsonObject),
        "json_schema" => {
            let inner = members.iter().find(|member| member.is("json_schema")).map(|member| member.value);
            let at = path.member("json_schema");
            at.schema_form(at.object(path.required(inner, "json_schema")?)?, owner)
        }
        _ => Err(path.member("type").refuse("must be text, json_object or json_schema")),
    }
}
