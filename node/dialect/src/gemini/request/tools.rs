//! Reads tools and what is said about their use.

use crate::{
    Dialect, Refusal,
    gemini::{names::camel, schema},
    ir::{Request, Tool, ToolChoice, ToolKind},
    json::{Kind, Raw, Writer, unescape},
    read::{self, Path},
};
use bytes::Bytes;

const SELF: Dialect = Dialect::Gemini;

/// `tools`: each element holds functions, or tools of the vendor, each a member.
pub(super) fn read_tools(
    value: Raw<'_>,
    path: &Path<'_>,
    owner: &Bytes,
    out: &mut Vec<Tool>,
) -> Result<(), Refusal> {
    for (i, tool) in path.array(value)?.enumerate() {
        let path = path.element(i);
        for member in path.object(tool)? {
            let key = unescape(member.key);
            let at = path.member(&key);
            if &*camel(member.key) == "functionDeclarations" {
                for (i, function) in at.array(member.value)?.enumerate() {
                    out.push(read_function(function, &at.element(i), owner)?);
                }
                continue;
            }
            let mut json = Writer::with_capacity(64);
            json.begin_object();
            json.key_escaped(member.key);
            json.raw(member.value.bytes());
            json.end_object();
            let json = crate::ir::Json::from_valid(json.finish().into());
            let kind = ToolKind::Opaque { dialect: SELF, json };
            out.push(Tool { kind, cache: None, attachments: Vec::new() });
        }
    }
    Ok(())
}

fn read_function(value: Raw<'_>, path: &Path<'_>, owner: &Bytes) -> Result<Tool, Refusal> {
    let (mut name, mut description, mut parameters, mut attachments) = (None, None, None, Vec::new());
    for member in path.object(value)? {
        let key = unescape(member.key);
        let at = path.member(&key);
        match &*camel(member.key) {
            "name" => name = Some(at.text(member.value, owner)?),
            "description" => description = Some(at.text(member.value, owner)?),
            "parameters" => {
                at.object_json(member.value, owner)?;
                parameters = Some(schema::read(member.value, owner));
            }
            "parametersJsonSchema" => parameters = Some(at.object_json(member.value, owner)?),
            _ => read::attach(&mut attachments, SELF, &member, owner),
        }
    }
    let name = path.required(name, "name")?;
    let kind = ToolKind::Function { name, description, parameters, strict: None };
    Ok(Tool { kind, cache: None, attachments })
}

/// `toolConfig`. What the modelled choice does not say whole is kept beside it.
pub(super) fn read_tool_config(
    value: Raw<'_>,
    path: &Path<'_>,
    owner: &Bytes,
    request: &mut Request,
) -> Result<(), Refusal> {
    for member in path.object(value)? {
        let key = unescape(member.key);
        if &*camel(member.key) == "functionCallingConfig" {
            let (choice, whole) = read_choice(member.value, &path.member(&key), owner)?;
            request.tool_choice = choice;
            if whole == Whole::Yes {
                continue;
            }
        }
        read::attach_inner(&mut request.attachments, SELF, "toolConfig", &member, owner);
    }
    Ok(())
}

/// Whether the choice says all.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Whole {
    Yes,
    No,
}

fn read_choice(
    value: Raw<'_>,
    path: &Path<'_>,
    owner: &Bytes,
) -> Result<(Option<ToolChoice>, Whole), Refusal> {
    let (mut mode, mut allowed, mut whole) = (None, Vec::new(), Whole::Yes);
    for member in path.object(value)? {
        let key = unescape(member.key);
        let at = path.member(&key);
        match &*camel(member.key) {
            "mode" => mode = Some(at.text(member.value, owner)?),
            "allowedFunctionNames" if member.value.kind() == Kind::Array => {
                for (i, name) in at.array(member.value)?.enumerate() {
                    allowed.push(at.element(i).text(name, owner)?);
                }
            }
            _ => whole = Whole::No,
        }
    }
    let mode = mode.map(|mode| mode.plain().to_ascii_uppercase());
    let choice = match mode.as_deref() {
        Some("ANY") => match <[_; 1]>::try_from(allowed) {
            Ok([name]) => return Ok((Some(ToolChoice::Named(name)), whole)),
            Err(several) => {
                allowed = several;
                Some(ToolChoice::Required)
            }
        },
        Some("NONE") => Some(ToolChoice::None),
        Some("AUTO") => Some(ToolChoice::Auto),
        // As the model sees fit, but by the schemas.
        Some("VALIDATED") => return Ok((Some(ToolChoice::Auto), Whole::No)),
        None | Some("MODE_UNSPECIFIED") => None,
        Some(_) => return Err(path.member("mode").refuse("must be AUTO, ANY, NONE or VALIDATED")),
    };
    Ok((choice, if allowed.is_empty() { whole } else { Whole::No }))
}
