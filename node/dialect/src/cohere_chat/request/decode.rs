//! Reads the top level of a request.

use super::messages::Messages;
use crate::{
    Dialect, Envelope, Refusal,
    ir::{OutputFormat, Reasoning, Request, Tool, ToolChoice, ToolKind},
    json::{Member, Raw, unescape},
    read::{self, Path, ROOT},
};
use bytes::Bytes;

const SELF: Dialect = Dialect::CohereChat;

/// Reads a request.
pub(in crate::cohere_chat) fn decode(envelope: &Envelope) -> Result<Request, Refusal> {
    let owner = envelope.body();
    let mut draft = Draft { owner, request: Request::default(), strict_tools: None };
    let (mut messages, mut documents) = (None, None);
    for member in envelope.members().filter(|member| !member.value.is_null()) {
        match &*unescape(member.key) {
            "messages" => messages = Some(member.value),
            "documents" => documents = Some(member.value),
            name => {
                if !draft.common(name, &member)? && !draft.numbers(name, &member)? {
                    draft.rest(name, &member)?;
                }
            }
        }
    }
    let path = ROOT.member("messages");
    let mut reader = Messages::new(owner);
    for (i, message) in path.array(ROOT.required(messages, "messages")?)?.enumerate() {
        reader.read(message, &path.element(i))?;
    }
    draft.request.messages = reader.finish(documents, &ROOT.member("documents"))?;
    draft.finish()
}

struct Draft<'a, 'v> {
    owner: &'a Bytes,
    request: Request,
    strict_tools: Option<(bool, Member<'v>)>,
}

impl<'v> Draft<'_, 'v> {
    /// The members that most requests have. False if it is not one of them.
    fn common(&mut self, name: &str, member: &Member<'v>) -> Result<bool, Refusal> {
        let (path, value, owner) = (ROOT.member(name), member.value, self.owner);
        let request = &mut self.request;
        match name {
            "model" => request.model = path.text(value, owner)?,
            "stream" => request.stream = path.boolean(value)?,
            "max_tokens" => request.max_tokens = Some(path.whole(value)?),
            "stop_sequences" => {
                for (i, text) in path.array(value)?.enumerate() {
                    request.stop.push(path.element(i).text(text, owner)?);
                }
            }
            "tools" => {
                for (i, tool) in path.array(value)?.enumerate() {
                    request.tools.push(read_tool(tool, &path.element(i), owner)?);
                }
            }
            "strict_tools" => self.strict_tools = Some((path.boolean(value)?, *member)),
            "tool_choice" => {
                request.tool_choice = Some(match value.string().as_deref() {
                    Some("REQUIRED") => ToolChoice::Required,
                    Some("NONE") => ToolChoice::None,
                    _ => return Err(path.refuse("must be REQUIRED or NONE")),
                });
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// The numbers that steer sampling. False if it is not one of them.
    fn numbers(&mut self, name: &str, member: &Member<'v>) -> Result<bool, Refusal> {
        let sampling = &mut self.request.sampling;
        let place = match name {
            "temperature" => &mut sampling.temperature,
            "p" => &mut sampling.top_p,
            "k" => &mut sampling.top_k,
            "frequency_penalty" => &mut sampling.frequency_penalty,
            "presence_penalty" => &mut sampling.presence_penalty,
            "seed" => &mut sampling.seed,
            _ => return Ok(false),
        };
        *place = Some(ROOT.member(name).number(member.value, self.owner)?);
        Ok(true)
    }

    /// The form of the answer; what is not modelled is kept.
    fn rest(&mut self, name: &str, member: &Member<'v>) -> Result<(), Refusal> {
        let (path, value, owner) = (ROOT.member(name), member.value, self.owner);
        let request = &mut self.request;
        match name {
            "response_format" => request.output = Some(read_output(value, &path, owner)?),
            "thinking" => request.reasoning = Some(read_thinking(value, &path, owner)?),
            // No alternatives: there is no member that asks for them.
            "logprobs" => request.logprobs = path.boolean(value)?.then_some(0),
            // The per-request fallbacks of the gateway: no provider sees them.
            "fallbacks" => {}
            _ => read::attach(&mut request.attachments, SELF, member, owner),
        }
        Ok(())
    }

    fn finish(self) -> Result<Request, Refusal> {
        let mut request = self.request;
        if request.model.is_empty() {
            return Err(ROOT.member("model").refuse("is missing"));
        }
        if let Some((all, member)) = self.strict_tools {
            let mut functions = 0;
            for tool in &mut request.tools {
                if let ToolKind::Function { strict, .. } = &mut tool.kind {
                    *strict = Some(all);
                    functions += 1;
                }
            }
            if functions == 0 {
                read::attach(&mut request.attachments, SELF, &member, self.owner);
            }
        }
        request.collect_needs();
        Ok(request)
    }
}

fn read_tool(value: Raw<'_>, path: &Path<'_>, owner: &Bytes) -> Result<Tool, Refusal> {
    let (kind, members) = path.typed(value)?;
    let mut attachments = Vec::new();
    if &*kind != "function" {
        let kind = ToolKind::Opaque { dialect: SELF, json: value.json(owner) };
        return Ok(Tool { kind, cache: None, attachments });
    }
    let mut function = None;
    for member in &members {
        match member.is("function") {
            true => function = Some(member.value),
            false => read::attach(&mut attachments, SELF, member, owner),
        }
    }
    let (mut name, mut description, mut parameters) = (None, None, None);
    let path = path.member("function");
    let function = function.ok_or_else(|| path.refuse("is missing"))?;
    for member in path.object(function)? {
        let key = unescape(member.key);
        let at = path.member(&key);
        match &*key {
            "name" => name = Some(at.text(member.value, owner)?),
            "description" => description = Some(at.text(member.value, owner)?),
            "parameters" => parameters = Some(at.object_json(member.value, owner)?),
            _ => read::attach_inner(&mut attachments, SELF, "function", &member, owner),
        }
    }
    let name = path.required(name, "name")?;
    let kind = ToolKind::Function { name, description, parameters, strict: None };
    Ok(Tool { kind, cache: None, attachments })
}

/// `{"type": "text"}`, or `{"type": "json_object"}` with or without a schema.
fn read_output(value: Raw<'_>, path: &Path<'_>, owner: &Bytes) -> Result<OutputFormat, Refusal> {
    let (kind, members) = path.typed(value)?;
    let mut schema = None;
    for member in &members {
        let key = unescape(member.key);
        let at = path.member(&key);
        match &*key {
            // The second is its name in the first version.
            "json_schema" | "schema" => schema = Some(at.object_json(member.value, owner)?),
            _ => return Err(at.refuse("is not known here")),
        }
    }
    match (&*kind, schema) {
        ("text", None) => Ok(OutputFormat::Text),
        ("text", Some(_)) => Err(path.member("json_schema").refuse("has no place with the type text")),
        ("json_object", None) => Ok(OutputFormat::JsonObject),
        ("json_object", Some(schema)) => {
            Ok(OutputFormat::JsonSchema { name: None, description: None, schema, strict: None })
        }
        _ => Err(path.member("type").refuse("must be text or json_object")),
    }
}

fn read_thinking(value: Raw<'_>, path: &Path<'_>, owner: &Bytes) -> Result<Reasoning, Refusal> {
    let (kind, members) = path.typed(value)?;
    let mut reasoning = Reasoning { enabled: true, ..Reasoning::default() };
    for member in &members {
        match member.is("token_budget") {
            true => reasoning.budget_tokens = Some(path.member("token_budget").whole(member.value)?),
            false => read::attach(&mut reasoning.attachments, SELF, member, owner),
        }
    }
    match &*kind {
        "enabled" => {}
        "disabled" => reasoning.enabled = false,
        _ => return Err(path.member("type").refuse("must be enabled or disabled")),
    }
    Ok(reasoning)
}
