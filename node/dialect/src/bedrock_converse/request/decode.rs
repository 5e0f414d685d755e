//! Reads the top level of a request. The model and whether to stream stand in the path.

use super::{
    fields::{self, Fields},
    members::Members,
    messages::{read_message, read_system},
    tools::read_tool_config,
};
use crate::{
    Dialect, Envelope, Refusal,
    ir::{Features, Json, Message, OutputFormat, Reasoning, Request, Text},
    json::{Member, Raw, unescape},
    read::{self, Path, ROOT},
};
use bytes::Bytes;

const SELF: Dialect = Dialect::BedrockConverse;

/// Reads a request. A prompt that lies with the vendor needs no messages.
pub(in crate::bedrock_converse) fn decode(envelope: &Envelope) -> Result<Request, Refusal> {
    let mut draft = Draft {
        owner: envelope.body(),
        request: Request::default(),
        system: None,
        fields: Fields::default(),
        effort: None,
    };
    for member in envelope.members().filter(|member| !member.value.is_null()) {
        draft.member(&unescape(member.key), &member)?;
    }
    Ok(draft.finish())
}

struct Draft<'a> {
    owner: &'a Bytes,
    request: Request,
    system: Option<Message>,
    fields: Fields,
    effort: Option<Text>,
}

impl Draft<'_> {
    fn member(&mut self, name: &str, member: &Member<'_>) -> Result<(), Refusal> {
        let (path, value, owner) = (ROOT.member(name), member.value, self.owner);
        let request = &mut self.request;
        match name {
            "messages" => {
                for (i, message) in path.array(value)?.enumerate() {
                    request.messages.push(read_message(message, &path.element(i), owner)?);
                }
            }
            "system" => self.system = read_system(value, &path, owner)?,
            "inferenceConfig" => self.inference(value, &path)?,
            "toolConfig" => read_tool_config(value, &path, owner, request)?,
            "additionalModelRequestFields" => {
                self.fields = fields::read(value, &path, owner, &mut request.attachments)?;
            }
            "outputConfig" => self.output(value, &path)?,
            "additionalModelResponseFieldPaths" if fields::asks_for_stop_sequence(value) => {}
            // The per-request fallbacks of the gateway: no provider sees them.
            "fallbacks" => {}
            "guardrailConfig" => {
                request.needs.add(Features::GUARDRAILS);
                read::attach(&mut request.attachments, SELF, member, owner);
            }
            _ => read::attach(&mut request.attachments, SELF, member, owner),
        }
        Ok(())
    }

    fn inference(&mut self, value: Raw<'_>, path: &Path<'_>) -> Result<(), Refusal> {
        let mut members = Members::of(value, path, self.owner)?;
        let request = &mut self.request;
        if let Some(tokens) = members.take("maxTokens") {
            request.max_tokens = Some(path.member("maxTokens").whole(tokens)?);
        }
        if let Some(number) = members.take("temperature") {
            request.sampling.temperature = Some(path.member("temperature").number(number, self.owner)?);
        }
        if let Some(number) = members.take("topP") {
            request.sampling.top_p = Some(path.member("topP").number(number, self.owner)?);
        }
        if let Some(texts) = members.take("stopSequences") {
            let path = path.member("stopSequences");
            for (i, text) in path.array(texts)?.enumerate() {
                request.stop.push(path.element(i).text(text, self.owner)?);
            }
        }
        members.rest_inside("inferenceConfig", &mut request.attachments);
        Ok(())
    }

    fn output(&mut self, value: Raw<'_>, path: &Path<'_>) -> Result<(), Refusal> {
        let mut members = Members::of(value, path, self.owner)?;
        self.effort = members.optional_text("effort")?;
        if let Some(format) = members.take("textFormat") {
            self.request.output = Some(read_format(format, &path.member("textFormat"), self.owner)?);
        }
        members.rest_inside("outputConfig", &mut self.request.attachments);
        Ok(())
    }

    fn finish(self) -> Request {
        let Self { mut request, system, fields, effort, .. } = self;
        if let Some(system) = system {
            request.messages.insert(0, system);
        }
        request.sampling.top_k = fields.top_k;
        request.parallel_tools = fields.parallel_tools;
        request.tool_choice = request.tool_choice.or(fields.tool_choice);
        request.needs.add(fields.needs);
        let effort = effort.or(fields.effort);
        request.reasoning = match fields.thinking {
            Some(thinking) => Some(Reasoning { effort: effort.or(thinking.effort), ..thinking }),
            // An effort alone steers reasoning where the model reasons by itself.
            None => {
                effort.map(|effort| Reasoning { enabled: true, effort: Some(effort), ..Reasoning::default() })
            }
        };
        request.collect_needs();
        request
    }
}

/// `{"type": "json_schema", "structure": {"jsonSchema": {"schema", "name", "description"}}}`. The schema is a text.
fn read_format(value: Raw<'_>, path: &Path<'_>, owner: &Bytes) -> Result<OutputFormat, Refusal> {
    let mut members = Members::of(value, path, owner)?;
    if !members.text("type")?.is("json_schema") {
        return Err(path.member("type").refuse("must be json_schema"));
    }
    let structure_path = path.member("structure");
    let structure =
        Members::of(members.required("structure")?, &structure_path, owner)?.required("jsonSchema")?;
    let at = structure_path.member("jsonSchema");
    let mut inner = Members::of(structure, &at, owner)?;
    let schema = inner.text("schema")?;
    let schema = Json::parse(&schema.plain()).map_err(|error| {
        at.member("schema").refuse(format_args!("must be the text of a JSON Schema: {error}"))
    })?;
    let (name, description) = (inner.optional_text("name")?, inner.optional_text("description")?);
    Ok(OutputFormat::JsonSchema { name, description, schema, strict: None })
}
