//! Reads the conversation and the instructions.

use super::join::join;
use crate::{
    Dialect, Refusal,
    gemini::{
        names::camel,
        part::{Calls, read_part},
    },
    ir::{Block, Message, Role},
    json::{Raw, unescape},
    read::{self, Path},
};
use bytes::Bytes;

const SELF: Dialect = Dialect::Gemini;

/// `contents`: an array, or one content alone.
pub(super) fn read_contents(value: Raw<'_>, path: &Path<'_>, owner: &Bytes) -> Result<Vec<Message>, Refusal> {
    let mut calls = Calls::of_conversation();
    if value.kind() == crate::json::Kind::Object {
        return Ok(vec![read_content(value, path, owner, &mut calls)?]);
    }
    let contents = path.array(value)?.enumerate();
    let read = |(i, content)| read_content(content, &path.element(i), owner, &mut calls);
    contents.map(read).collect::<Result<_, _>>().map(join)
}

/// `systemInstruction`, whatever its role.
pub(super) fn read_system(value: Raw<'_>, path: &Path<'_>, owner: &Bytes) -> Result<Message, Refusal> {
    let (_, message) = read_parts(value, path, owner, &mut Calls::default())?;
    Ok(Message { role: Role::System, ..message })
}

fn read_content(
    value: Raw<'_>,
    path: &Path<'_>,
    owner: &Bytes,
    calls: &mut Calls,
) -> Result<Message, Refusal> {
    let (role, message) = read_parts(value, path, owner, calls)?;
    let role = match role {
        None => Role::User,
        Some((key, value)) => match value.string().as_deref() {
            // The last two are older words for the turn with the results of tools.
            Some("user" | "" | "function" | "tool") => Role::User,
            Some("model") => Role::Assistant,
            _ => return Err(path.member(&key).refuse("must be user or model")),
        },
    };
    Ok(Message { role, ..message })
}

type Named<'v> = (String, Raw<'v>);

/// The parts of a content, and its role as it stands.
fn read_parts<'v>(
    value: Raw<'v>,
    path: &Path<'_>,
    owner: &Bytes,
    calls: &mut Calls,
) -> Result<(Option<Named<'v>>, Message), Refusal> {
    let (mut role, mut parts, mut attachments) = (None, None, Vec::new());
    for member in path.object(value)? {
        let key = unescape(member.key);
        match &*camel(member.key) {
            "role" => role = Some((key.into_owned(), member.value)),
            "parts" => parts = Some((key.into_owned(), member.value)),
            _ => read::attach(&mut attachments, SELF, &member, owner),
        }
    }
    let (key, parts) = path.required(parts, "parts")?;
    let at = path.member(&key);
    let mut blocks: Vec<Block> = Vec::new();
    if parts.kind() == crate::json::Kind::Object {
        blocks.extend(read_part(parts, &at, owner, calls)?);
    } else {
        for (i, part) in at.array(parts)?.enumerate() {
            blocks.extend(read_part(part, &at.element(i), owner, calls)?);
        }
    }
    Ok((role, Message { role: Role::User, blocks, name: None, attachments }))
}
