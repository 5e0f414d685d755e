//! Reads `additionalModelRequestFields`: what a model takes beyond what Converse defines, in its vendor's own words.

use super::members::Members;
use crate::{
    Dialect, Refusal,
    ir::{Attachment, Features, Json, Reasoning, Text, ToolChoice},
    json::{Kind, Raw},
    read::Path,
};
use bytes::Bytes;

const SELF: Dialect = Dialect::BedrockConverse;

/// Where the members stand that are not modelled.
pub(super) const PARENT: &str = "additionalModelRequestFields";

/// What is asked for so that the answer names the stop text that was hit: of whole answers, and of streamed ones.
pub(super) const STOP_SEQUENCE_PATHS: [&str; 2] = ["/stop_sequence", "/delta/stop_sequence"];

/// Whether nothing but those is asked for: wherever the stop text is known, the answer has it anyway.
pub(super) fn asks_for_stop_sequence(value: Raw<'_>) -> bool {
    let known = |path: Raw<'_>| STOP_SEQUENCE_PATHS.iter().any(|known| path.is_str(known));
    value.kind() == Kind::Array && value.elements().all(known)
}

/// The members that mean what others say elsewhere.
#[derive(Debug, Default)]
pub(super) struct Fields {
    pub(super) thinking: Option<Reasoning>,
    pub(super) effort: Option<Text>,
    pub(super) top_k: Option<Json>,
    pub(super) tool_choice: Option<ToolChoice>,
    pub(super) parallel_tools: Option<bool>,
    pub(super) needs: Features,
}

/// Reads them; the others are kept.
pub(super) fn read(
    value: Raw<'_>,
    path: &Path<'_>,
    owner: &Bytes,
    attachments: &mut Vec<Attachment>,
) -> Result<Fields, Refusal> {
    let mut members = Members::of(value, path, owner)?;
    let mut fields = Fields::default();
    // The same by the name that it has in the vendor's own examples.
    for name in ["thinking", "reasoning_config"] {
        if let Some(thinking) = members.take(name) {
            fields.thinking = Some(read_thinking(thinking, &path.member(name), owner)?);
        }
    }
    if let Some(config) = members.take("reasoningConfig") {
        fields.thinking = Some(read_reasoning_config(config, &path.member("reasoningConfig"), owner)?);
    }
    if let Some(effort) = members.optional_text("reasoning_effort")? {
        fields.effort = Some(effort);
    }
    if let Some(config) = members.take("output_config") {
        let at = path.member("output_config");
        let mut inner = Members::of(config, &at, owner)?;
        fields.effort = inner.optional_text("effort")?.or(fields.effort);
        inner.rest_inside("additionalModelRequestFields.output_config", attachments);
    }
    if let Some(number) = members.take("top_k") {
        fields.top_k = Some(path.member("top_k").number(number, owner)?);
    }
    if let Some(config) = members.take("inferenceConfig") {
        let at = path.member("inferenceConfig");
        let mut inner = Members::of(config, &at, owner)?;
        if let Some(number) = inner.take("topK") {
            fields.top_k = Some(at.member("topK").number(number, owner)?);
        }
        inner.rest_inside("additionalModelRequestFields.inferenceConfig", attachments);
    }
    if let Some(choice) = members.take("tool_choice") {
        read_choice(choice, &path.member("tool_choice"), owner, &mut fields)?;
    }
    // Tools that the vendor of the model runs or knows.
    if members.has("tools") {
        fields.needs.add(Features::SERVER_TOOLS);
    }
    members.rest_inside(PARENT, attachments);
    Ok(fields)
}

/// As models of Anthropic take it: `{"type": "enabled", "budget_tokens": ...}`.
fn read_thinking(value: Raw<'_>, path: &Path<'_>, owner: &Bytes) -> Result<Reasoning, Refusal> {
    let mut members = Members::of(value, path, owner)?;
    let kind = members.text("type")?;
    let budget = members.take("budget_tokens");
    let budget_tokens = budget.map(|budget| path.member("budget_tokens").whole(budget)).transpose()?;
    let enabled = !kind.is("disabled");
    Ok(Reasoning { enabled, effort: None, budget_tokens, attachments: members.rest() })
}

/// As models of Amazon take it: `{"type": "enabled", "maxReasoningEffort": ...}`.
fn read_reasoning_config(value: Raw<'_>, path: &Path<'_>, owner: &Bytes) -> Result<Reasoning, Refusal> {
    let mut members = Members::of(value, path, owner)?;
    let enabled = !members.text("type")?.is("disabled");
    let effort = members.optional_text("maxReasoningEffort")?;
    Ok(Reasoning { enabled, effort, budget_tokens: None, attachments: members.rest() })
}

/// As models of Anthropic take it; Converse itself can neither forbid calls nor ask for one at a time.
fn read_choice(value: Raw<'_>, path: &Path<'_>, owner: &Bytes, fields: &mut Fields) -> Result<(), Refusal> {
    if value.kind() != Kind::Object {
        return Err(path.refuse("must be an object"));
    }
    let mut members = Members::of(value, path, owner)?;
    if let Some(disabled) = members.take("disable_parallel_tool_use") {
        fields.parallel_tools = Some(!path.member("disable_parallel_tool_use").boolean(disabled)?);
    }
    let name = members.optional_text("name")?;
    fields.tool_choice = match members.optional_text("type")?.as_ref().map(Text::plain).as_deref() {
        Some("auto") => Some(ToolChoice::Auto),
        Some("any") => Some(ToolChoice::Required),
        Some("none") => Some(ToolChoice::None),
        Some("tool") => Some(ToolChoice::Named(path.required(name, "name")?)),
        Some(_) => Some(ToolChoice::Opaque(SELF, value.json(owner))),
        None => None,
    };
    Ok(())
}

/// The name of a member inside of the fields, if the attachment of this name is one.
pub(super) fn inside(name: &str) -> Option<&str> {
    name.strip_prefix(PARENT)?.strip_prefix('.').filter(|name| !name.contains('.'))
}
