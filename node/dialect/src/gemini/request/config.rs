//! Reads `generationConfig`.

use crate::{
    Dialect, Refusal,
    gemini::{names::camel, schema},
    ir::{Features, Json, OutputFormat, Reasoning, Request, Text},
    json::{Kind, Member, Raw, unescape},
    read::{self, Path},
};
use bytes::Bytes;

const SELF: Dialect = Dialect::Gemini;
const PARENT: &str = "generationConfig";

/// What must be known whole before it says something.
#[derive(Default)]
struct Output<'v> {
    media_type: Option<Member<'v>>,
    schema: Option<(Json, Member<'v>)>,
    /// `responseFormat`, which replaces the two above.
    format: Option<OutputFormat>,
    wants_logprobs: bool,
    logprobs: Option<u64>,
}

/// Reads it into the request.
pub(super) fn read_config(
    value: Raw<'_>,
    path: &Path<'_>,
    owner: &Bytes,
    request: &mut Request,
) -> Result<(), Refusal> {
    let mut output = Output::default();
    for member in path.object(value)? {
        let key = unescape(member.key);
        let at = path.member(&key);
        let name = camel(member.key);
        if !read_number(&name, member.value, &at, (owner, request))?
            && !output.read(&name, &member, &at, owner)?
        {
            read_other(&name, &member, &at, (owner, request))?;
        }
    }
    output.finish(owner, request);
    Ok(())
}

/// Numbers and stop texts. False if it is not one of them.
fn read_number(
    name: &str,
    value: Raw<'_>,
    at: &Path<'_>,
    (owner, request): (&Bytes, &mut Request),
) -> Result<bool, Refusal> {
    let sampling = &mut request.sampling;
    let slot = match name {
        "temperature" => &mut sampling.temperature,
        "topP" => &mut sampling.top_p,
        "topK" => &mut sampling.top_k,
        "frequencyPenalty" => &mut sampling.frequency_penalty,
        "presencePenalty" => &mut sampling.presence_penalty,
        "seed" => &mut sampling.seed,
        "maxOutputTokens" => {
            request.max_tokens = Some(at.whole(value)?);
            return Ok(true);
        }
        "stopSequences" => {
            for (i, text) in at.array(value)?.enumerate() {
                request.stop.push(at.element(i).text(text, owner)?);
            }
            return Ok(true);
        }
        _ => return Ok(false),
    };
    *slot = Some(at.number(value, owner)?);
    Ok(true)
}

impl<'v> Output<'v> {
    /// The form of the answer. False if it is not about that.
    fn read(
        &mut self,
        name: &str,
        member: &Member<'v>,
        at: &Path<'_>,
        owner: &Bytes,
    ) -> Result<bool, Refusal> {
        let value = member.value;
        match name {
            "responseMimeType" => {
                at.text(value, owner)?;
                self.media_type = Some(*member);
            }
            "responseSchema" => {
                at.object_json(value, owner)?;
                self.schema = Some((schema::read(value, owner), *member));
            }
            "responseJsonSchema" | "_responseJsonSchema" => {
                self.schema = Some((at.object_json(value, owner)?, *member));
            }
            "responseFormat" => match read_format(value, owner) {
                Some(format) => self.format = Some(format),
                None => return Ok(false),
            },
            "responseLogprobs" => self.wants_logprobs = at.boolean(value)?,
            "logprobs" => self.logprobs = Some(at.whole(value)?),
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn finish(self, owner: &Bytes, request: &mut Request) {
        request.logprobs = self.wants_logprobs.then_some(self.logprobs.unwrap_or(0));
        let media_type = self.media_type.and_then(|member| member.value.string());
        let is_json = media_type.as_deref().is_some_and(|media_type| media_type == "application/json");
        match (self.schema, self.media_type) {
            (Some((schema, _)), _) if is_json => {
                request.output = Some(by_schema(schema));
            }
            (None, Some(_)) if is_json => request.output = Some(OutputFormat::JsonObject),
            (None, Some(_)) if media_type.as_deref() == Some("text/plain") => {
                request.output = Some(OutputFormat::Text);
            }
            (None, None) => request.output = self.format,
            // `text/x.enum`, for one.
            (schema, media_type) => {
                for member in schema.map(|(_, member)| member).into_iter().chain(media_type) {
                    read::attach_inner(&mut request.attachments, SELF, PARENT, &member, owner);
                }
            }
        }
    }
}

fn by_schema(schema: Json) -> OutputFormat {
    OutputFormat::JsonSchema { name: None, description: None, schema, strict: None }
}

/// `{"text": {"mimeType", "schema"}}`, or an array with only that. `None` for what is not text.
fn read_format(value: Raw<'_>, owner: &Bytes) -> Option<OutputFormat> {
    let mut formats = value.elements();
    let format = formats.next().unwrap_or(value);
    let mut members = format.members();
    let text = members.next().filter(|member| member.is("text"))?.value;
    if members.next().is_some() || formats.next().is_some() {
        return None;
    }
    let (mut is_json, mut schema) = (false, None);
    for member in text.members() {
        match &*camel(member.key) {
            // A media type, or the word of an enum for it.
            "mimeType" => is_json = member.value.string()?.to_ascii_lowercase().ends_with("json"),
            "schema" if member.value.kind() == Kind::Object => schema = Some(member.value.json(owner)),
            _ => return None,
        }
    }
    match schema {
        Some(schema) if is_json => Some(by_schema(schema)),
        None if is_json => Some(OutputFormat::JsonObject),
        _ => None,
    }
}

/// The rest; some of it needs a feature.
fn read_other(
    name: &str,
    member: &Member<'_>,
    at: &Path<'_>,
    (owner, request): (&Bytes, &mut Request),
) -> Result<(), Refusal> {
    let value = member.value;
    match name {
        "candidateCount" => match at.whole(value)? {
            0 | 1 => return Ok(()),
            _ => request.needs.add(Features::CHOICES),
        },
        "responseModalities" => {
            let mut only_text = true;
            for (i, modality) in at.array(value)?.enumerate() {
                let word = at.element(i).text(modality, owner)?.plain().to_ascii_uppercase();
                only_text &= word == "TEXT";
                match &*word {
                    "IMAGE" => request.needs.add(Features::IMAGE_OUTPUT),
                    "AUDIO" => request.needs.add(Features::AUDIO_OUTPUT),
                    _ => {}
                }
            }
            if only_text {
                return Ok(());
            }
        }
        "thinkingConfig" => {
            request.reasoning = read_thinking(value, at, owner)?;
            if request.reasoning.is_some() {
                return Ok(());
            }
        }
        _ => {}
    }
    read::attach_inner(&mut request.attachments, SELF, PARENT, member, owner);
    Ok(())
}

/// `None` where it says nothing about how much to think.
fn read_thinking(value: Raw<'_>, path: &Path<'_>, owner: &Bytes) -> Result<Option<Reasoning>, Refusal> {
    let (mut reasoning, mut said) = (Reasoning { enabled: true, ..Reasoning::default() }, false);
    for member in path.object(value)? {
        let key = unescape(member.key);
        let at = path.member(&key);
        match &*camel(member.key) {
            "includeThoughts" => match at.boolean(member.value)? {
                true => said = true,
                false => read::attach(&mut reasoning.attachments, SELF, &member, owner),
            },
            // -1: as the model sees fit.
            "thinkingBudget" if member.value.bytes() == b"-1" => said = true,
            "thinkingBudget" => {
                let tokens = at.whole(member.value)?;
                said = true;
                reasoning.enabled = tokens > 0;
                reasoning.budget_tokens = Some(tokens).filter(|tokens| *tokens > 0);
            }
            "thinkingLevel" => {
                let level = at.text(member.value, owner)?.plain().to_ascii_lowercase();
                if level != "thinking_level_unspecified" {
                    said = true;
                    reasoning.effort = Some(Text::new(&level));
                }
            }
            _ => read::attach(&mut reasoning.attachments, SELF, &member, owner),
        }
    }
    Ok(said.then_some(reasoning))
}
