//! Reads `toolConfig`.

use super::{blocks::read_cache_point, members::Members};
use crate::{
    Dialect, Refusal,
    ir::{Request, Tool, ToolChoice, ToolKind},
    json::Raw,
    read::{self, Path},
};
use bytes::Bytes;

const SELF: Dialect = Dialect::BedrockConverse;

/// Tools, marks among them, and the choice.
pub(super) fn read_tool_config(
    value: Raw<'_>,
    path: &Path<'_>,
    owner: &Bytes,
    request: &mut Request,
) -> Result<(), Refusal> {
    let mut members = Members::of(value, path, owner)?;
    if let Some(tools) = members.take("tools") {
        let tools_path = path.member("tools");
        for (i, tool) in tools_path.array(tools)?.enumerate() {
            let at = tools_path.element(i);
            match (read_cache_point(tool, &at, owner)?, request.tools.last_mut()) {
                (None, _) => request.tools.push(read_tool(tool, &at, owner)?),
                (Some(mark), Some(tool)) => tool.cache = Some(mark),
                (Some(_), None) => {
                    for member in tool.members() {
                        read::attach_inner(&mut request.attachments, SELF, "toolConfig", &member, owner);
                    }
                }
            }
        }
    }
    if let Some(choice) = members.take("toolChoice") {
        request.tool_choice = Some(read_choice(choice, &path.member("toolChoice"), owner)?);
    }
    members.rest_inside("toolConfig", &mut request.attachments);
    Ok(())
}

/// `{"toolSpec": ...}`; all others the vendor runs.
fn read_tool(value: Raw<'_>, path: &Path<'_>, owner: &Bytes) -> Result<Tool, Refusal> {
    let mut members = Members::of(value, path, owner)?;
    let Some(spec) = members.take("toolSpec") else {
        let kind = ToolKind::Opaque { dialect: SELF, json: value.json(owner) };
        return Ok(Tool { kind, cache: None, attachments: Vec::new() });
    };
    let at = path.member("toolSpec");
    let mut spec = Members::of(spec, &at, owner)?;
    let name = spec.text("name")?;
    let description = spec.optional_text("description")?;
    let strict = spec.take("strict").map(|strict| at.member("strict").boolean(strict)).transpose()?;
    let parameters = match spec.take("inputSchema") {
        Some(schema) => {
            let at = at.member("inputSchema");
            let json = Members::of(schema, &at, owner)?.required("json")?;
            Some(at.member("json").object_json(json, owner)?)
        }
        None => None,
    };
    let kind = ToolKind::Function { name, description, parameters, strict };
    Ok(Tool { kind, cache: None, attachments: spec.rest() })
}

/// `{"auto": {}}`, `{"any": {}}`, `{"tool": {"name": ...}}`.
fn read_choice(value: Raw<'_>, path: &Path<'_>, owner: &Bytes) -> Result<ToolChoice, Refusal> {
    let mut members = Members::of(value, path, owner)?;
    Ok(if members.has("auto") {
        ToolChoice::Auto
    } else if members.has("any") {
        ToolChoice::Required
    } else if let Some(tool) = members.take("tool") {
        let at = path.member("tool");
        ToolChoice::Named(Members::of(tool, &at, owner)?.text("name")?)
    } else {
        ToolChoice::Opaque(SELF, value.json(owner))
    })
}
