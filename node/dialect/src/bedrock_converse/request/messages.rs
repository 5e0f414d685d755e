//! Reads messages and instructions.

use super::{
    blocks::{Content, read_content},
    members::Members,
};
use crate::{
    Refusal,
    ir::{Message, Role},
    json::Raw,
    read::Path,
};
use bytes::Bytes;

/// One message. Instructions may stand among them.
pub(super) fn read_message(value: Raw<'_>, path: &Path<'_>, owner: &Bytes) -> Result<Message, Refusal> {
    let mut members = Members::of(value, path, owner)?;
    let role = match members.required("role")?.string().as_deref() {
        Some("user") => Role::User,
        Some("assistant") => Role::Assistant,
        Some("system") => Role::System,
        _ => return Err(path.member("role").refuse("must be user, assistant or system")),
    };
    let content = members.required("content")?;
    let Content { blocks, mut attachments } = read_content(content, &path.member("content"), owner)?;
    attachments.extend(members.rest());
    Ok(Message { role, blocks, name: None, attachments })
}

/// The instructions; `None` where there are none.
pub(super) fn read_system(
    value: Raw<'_>,
    path: &Path<'_>,
    owner: &Bytes,
) -> Result<Option<Message>, Refusal> {
    let Content { blocks, attachments } = read_content(value, path, owner)?;
    let empty = blocks.is_empty() && attachments.is_empty();
    Ok((!empty).then_some(Message { role: Role::System, blocks, name: None, attachments }))
}
