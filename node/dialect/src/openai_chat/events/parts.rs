//! The members of a chunk that matter, found in one walk.

use crate::json::{Kind, Raw, unescape};

/// The top level of a chunk; members that are `null` are not there.
#[derive(Debug, Default)]
pub(super) struct Parts<'v> {
    pub(super) id: Option<Raw<'v>>,
    pub(super) model: Option<Raw<'v>>,
    pub(super) created: Option<Raw<'v>>,
    pub(super) choices: Option<Raw<'v>>,
    pub(super) usage: Option<Raw<'v>>,
    error: Option<Raw<'v>>,
    object: Option<Raw<'v>>,
    kind: Option<Raw<'v>>,
}

impl<'v> Parts<'v> {
    /// Finds them. Usage stands at the top; Groq has it in a member of its own.
    pub(super) fn of(root: Raw<'v>) -> Self {
        let mut parts = Self::default();
        for member in root.members().filter(|member| !member.value.is_null()) {
            let value = Some(member.value);
            match &*unescape(member.key) {
                "id" => parts.id = value,
                "model" => parts.model = value,
                "created" => parts.created = value,
                "choices" => parts.choices = value,
                "usage" if member.value.kind() == Kind::Object => parts.usage = value,
                "x_groq" => parts.usage = parts.usage.or_else(|| member.value.get("usage")),
                "error" => parts.error = value,
                "object" => parts.object = value,
                "type" => parts.kind = value,
                _ => {}
            }
        }
        parts
    }

    /// Whether a picture is complete.
    pub(super) fn is_picture(&self) -> bool {
        let is = |name| self.kind.is_some_and(|kind| kind.is_str(name));
        is("image_generation.completed") || is("image_edit.completed")
    }

    /// An error event: by its name, by a member, or as vLLM writes one.
    pub(super) fn is_error(&self, name: &[u8]) -> bool {
        name == b"error" || self.error.is_some() || self.object.is_some_and(|object| object.is_str("error"))
    }
}

/// A choice of a chunk.
#[derive(Debug, Default)]
pub(super) struct Choice<'v> {
    pub(super) delta: Option<Raw<'v>>,
    pub(super) finish_reason: Option<Raw<'v>>,
    pub(super) stop_reason: Option<Raw<'v>>,
    pub(super) logprobs: Option<Raw<'v>>,
    index: Option<Raw<'v>>,
}

impl<'v> Choice<'v> {
    /// The first choice, if the chunk has something of it: who asked for more was not sent here.
    pub(super) fn first(choices: Raw<'v>) -> Option<Self> {
        choices.elements().map(Self::of).find(|choice| choice.index.and_then(Raw::u64).unwrap_or(0) == 0)
    }

    fn of(value: Raw<'v>) -> Self {
        let mut choice = Self::default();
        for member in value.members() {
            let value = Some(member.value);
            match &*unescape(member.key) {
                "index" => choice.index = value,
                "delta" => choice.delta = value,
                "finish_reason" => choice.finish_reason = value,
                "stop_reason" => choice.stop_reason = value,
                "logprobs" => choice.logprobs = value,
                _ => {}
            }
        }
        choice
    }
}
