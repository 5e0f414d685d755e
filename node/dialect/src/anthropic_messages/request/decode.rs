//! Reads the top level of a request.

use super::blocks::read_content;
use crate::{
    Dialect, Envelope, Refusal,
    ir::{
        Attachment, Features, Json, Message, OutputFormat, Reasoning, Request, Role, Text, Tool, ToolChoice,
        ToolKind,
    },
    json::{Member, Raw, unescape},
    read::{self, Path, ROOT},
};
use bytes::Bytes;

const SELF: Dialect = Dialect::AnthropicMessages;

/// Reads a request.
pub(in crate::anthropic_messages) fn decode(envelope: &Envelope) -> Result<Request, Refusal> {
    let mut draft = Draft::new(envelope.body());
    for member in envelope.members().filter(|member| !member.value.is_null()) {
        let name = unescape(member.key);
        if !draft.common(&name, &member)? {
            draft.other(&name, &member)?;
        }
    }
    draft.finish()
}

struct Draft<'a> {
    owner: &'a Bytes,
    request: Request,
    system: Option<Message>,
    has_messages: Option<()>,
    thinking: Option<Reasoning>,
    effort: Option<Text>,
}

impl<'a> Draft<'a> {
    fn new(owner: &'a Bytes) -> Self {
        let request = Request::default();
        Self { owner, request, system: None, has_messages: None, thinking: None, effort: None }
    }

    /// The members that most requests have. False if it is not one of them.
    fn common(&mut self, name: &str, member: &Member<'_>) -> Result<bool, Refusal> {
        let (path, value, owner) = (ROOT.member(name), member.value, self.owner);
        let request = &mut self.request;
        match name {
            "model" => request.model = path.text(value, owner)?,
            "stream" => request.stream = path.boolean(value)?,
            "max_tokens" => request.max_tokens = Some(path.whole(value)?),
            "temperature" => request.sampling.temperature = Some(path.number(value, owner)?),
            "top_p" => request.sampling.top_p = Some(path.number(value, owner)?),
            "top_k" => request.sampling.top_k = Some(path.number(value, owner)?),
            "messages" => {
                self.has_messages = Some(());
                for (i, message) in path.array(value)?.enumerate() {
                    request.messages.push(read_message(message, &path.element(i), owner)?);
                }
            }
            "system" => {
                let blocks = read_content(value, &path, owner)?;
                let (name, attachments) = (None, Vec::new());
                self.system = Some(Message { role: Role::System, blocks, name, attachments });
            }
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
            "tool_choice" => self.tool_choice(value, &path)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn other(&mut self, name: &str, member: &Member<'_>) -> Result<(), Refusal> {
        let (path, value, owner) = (ROOT.member(name), member.value, self.owner);
        let request = &mut self.request;
        match name {
            "thinking" => self.thinking = Some(read_thinking(value, &path, owner)?),
            "output_config" => self.output_config(value, &path)?,
            // The same by its older name.
            "output_format" => request.output = Some(read_format(value, &path, owner)?),
            "metadata" => {
                for inner in path.object(value)? {
                    if inner.is("user_id") {
                        request.user = Some(path.member("user_id").text(inner.value, owner)?);
                    } else {
                        read::attach_inner(&mut request.attachments, SELF, "metadata", &inner, owner);
                    }
                }
            }
            // The per-request fallbacks of the gateway: no provider sees them.
            "fallbacks" => {}
            _ => {
                // Servers that the vendor calls, and a conversation that it keeps.
                if (name == "mcp_servers" && value.elements().next().is_some()) || name == "thread" {
                    request.needs.add(Features::SERVER_TOOLS);
                }
                read::attach(&mut request.attachments, SELF, member, owner);
            }
        }
        Ok(())
    }

    fn tool_choice(&mut self, value: Raw<'_>, path: &Path<'_>) -> Result<(), Refusal> {
        let (kind, members) = path.typed(value)?;
        let mut name = None;
        for member in &members {
            let key = unescape(member.key);
            let at = path.member(&key);
            match &*key {
                "name" => name = Some(at.text(member.value, self.owner)?),
                "disable_parallel_tool_use" => {
                    self.request.parallel_tools = Some(!at.boolean(member.value)?);
                }
                _ => return Err(at.refuse("is not known here")),
            }
        }
        self.request.tool_choice = Some(match &*kind {
            "auto" => ToolChoice::Auto,
            "any" => ToolChoice::Required,
            "none" => ToolChoice::None,
            "tool" => ToolChoice::Named(path.required(name, "name")?),
            _ => return Err(path.member("type").refuse("must be auto, any, tool or none")),
        });
        Ok(())
    }

    fn output_config(&mut self, value: Raw<'_>, path: &Path<'_>) -> Result<(), Refusal> {
        for member in path.object(value)? {
            let key = unescape(member.key);
            let at = path.member(&key);
            match &*key {
                "effort" => self.effort = Some(at.text(member.value, self.owner)?),
                "format" => self.request.output = Some(read_format(member.value, &at, self.owner)?),
                _ => {
                    let list = &mut self.request.attachments;
                    read::attach_inner(list, SELF, "output_config", &member, self.owner);
                }
            }
        }
        Ok(())
    }

    fn finish(self) -> Result<Request, Refusal> {
        let mut request = self.request;
        if request.model.is_empty() {
            return Err(ROOT.member("model").refuse("is missing"));
        }
        ROOT.required(self.has_messages, "messages")?;
        if let Some(system) = self.system.filter(|system| !system.blocks.is_empty()) {
            request.messages.insert(0, system);
        }
        request.reasoning = match (self.thinking, self.effort) {
            (Some(thinking), effort) => Some(Reasoning { effort, ..thinking }),
            // An effort alone steers reasoning where the model reasons by itself.
            (None, Some(effort)) => {
                Some(Reasoning { enabled: true, effort: Some(effort), ..Reasoning::default() })
            }
            (None, None) => None,
        };
        request.collect_needs();
        Ok(request)
    }
}

fn read_message(value: Raw<'_>, path: &Path<'_>, owner: &Bytes) -> Result<Message, Refusal> {
    let (mut role, mut content, mut attachments) = (None, None, Vec::new());
    for member in path.object(value)? {
        match &*unescape(member.key) {
            "role" => role = Some(member.value),
            "content" => content = Some(member.value),
            _ => read::attach(&mut attachments, SELF, &member, owner),
        }
    }
    let role = match path.required(role, "role")?.string().as_deref() {
        Some("user") => Role::User,
        Some("assistant") => Role::Assistant,
        Some("system") => Role::System,
        _ => return Err(path.member("role").refuse("must be user, assistant or system")),
    };
    let blocks = read_content(path.required(content, "content")?, &path.member("content"), owner)?;
    Ok(Message { role, blocks, name: None, attachments })
}

/// A tool of the application has no type or `custom`; all others are Anthropic's own.
fn read_tool(value: Raw<'_>, path: &Path<'_>, owner: &Bytes) -> Result<Tool, Refusal> {
    let members = path.object(value)?;
    let kind = members.iter().find(|member| member.is("type")).map(|member| member.value);
    let is_function = kind.is_none_or(|kind| kind.is_str("custom"));
    let (mut name, mut description, mut parameters, mut strict) = (None, None, None, None);
    let (mut cache, mut attachments) = (None, Vec::<Attachment>::new());
    if !is_function {
        let kind = ToolKind::Opaque { dialect: SELF, json: value.json(owner) };
        return Ok(Tool { kind, cache, attachments });
    }
    for member in &members {
        let key = unescape(member.key);
        let at = path.member(&key);
        match &*key {
            "type" => {}
            "name" => name = Some(at.text(member.value, owner)?),
            "description" => description = Some(at.text(member.value, owner)?),
            "input_schema" => parameters = Some(at.object_json(member.value, owner)?),
            "strict" => strict = Some(at.boolean(member.value)?),
            "cache_control" => cache = Some(member.value.json(owner)),
            _ => read::attach(&mut attachments, SELF, member, owner),
        }
    }
    let name = path.required(name, "name")?;
    Ok(Tool { kind: ToolKind::Function { name, description, parameters, strict }, cache, attachments })
}

fn read_thinking(value: Raw<'_>, path: &Path<'_>, owner: &Bytes) -> Result<Reasoning, Refusal> {
    let (kind, members) = path.typed(value)?;
    let mut reasoning = Reasoning { enabled: true, ..Reasoning::default() };
    for member in &members {
        let key = unescape(member.key);
        match &*key {
            "budget_tokens" => reasoning.budget_tokens = Some(path.member(&key).whole(member.value)?),
            _ => read::attach(&mut reasoning.attachments, SELF, member, owner),
        }
    }
    match &*kind {
        "enabled" => {
            path.required(reasoning.budget_tokens, "budget_tokens")?;
        }
        "adaptive" => {}
        "disabled" => reasoning.enabled = false,
        "between_tools" => {
            let (name, value) = (Text::fixed("type"), Json::fixed("\"between_tools\""));
            reasoning.attachments.push(Attachment { dialect: SELF, name, value });
        }
        _ => {
            return Err(path.member("type").refuse("must be enabled, adaptive, between_tools or disabled"));
        }
    }
    Ok(reasoning)
}

fn read_format(value: Raw<'_>, path: &Path<'_>, owner: &Bytes) -> Result<OutputFormat, Refusal> {
    let (kind, members) = path.typed(value)?;
    if &*kind != "json_schema" {
        return Err(path.member("type").refuse("must be json_schema"));
    }
    let schema = members.iter().find(|member| member.is("schema"));
    let schema = path.required(schema, "schema")?.value;
    let schema = path.member("schema").object_json(schema, owner)?;
    Ok(OutputFormat::JsonSchema { name: None, description: None, schema, strict: None })
}
