//! What a request needs and a target may lack, as a bit set.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use std::{borrow::Cow, fmt};

/// A set of features. In documents a list of names.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct Features(u32);

impl Features {
    /// Nothing special.
    pub const NONE: Self = Self(0);
    /// Function tools.
    pub const TOOLS: Self = Self(1);
    /// More than one answer (`n`).
    pub const CHOICES: Self = Self(1 << 1);
    /// Images in messages.
    pub const IMAGES: Self = Self(1 << 2);
    /// Images in tool results.
    pub const TOOL_RESULT_IMAGES: Self = Self(1 << 3);
    /// Documents.
    pub const DOCUMENTS: Self = Self(1 << 4);
    /// Sound in messages.
    pub const AUDIO: Self = Self(1 << 5);
    /// Output that follows a JSON Schema.
    pub const JSON_SCHEMA: Self = Self(1 << 6);
    /// Output that is any JSON object.
    pub const JSON_OBJECT: Self = Self(1 << 7);
    /// Reasoning.
    pub const REASONING: Self = Self(1 << 8);
    /// Log probabilities.
    pub const LOGPROBS: Self = Self(1 << 9);
    /// Tools that a vendor runs.
    pub const SERVER_TOOLS: Self = Self(1 << 10);
    /// A streamed answer.
    pub const STREAMING: Self = Self(1 << 11);
    /// Films in messages.
    pub const VIDEO: Self = Self(1 << 12);
    /// An answer that is spoken.
    pub const AUDIO_OUTPUT: Self = Self(1 << 13);
    /// Pictures in the answer.
    pub const IMAGE_OUTPUT: Self = Self(1 << 14);
    /// Guardrails of the vendor, which judge what is said.
    pub const GUARDRAILS: Self = Self(1 << 15);

    const NAMES: [(&'static str, Self); 16] = [
        ("tools", Self::TOOLS),
        ("choices", Self::CHOICES),
        ("images", Self::IMAGES),
        ("tool_result_images", Self::TOOL_RESULT_IMAGES),
        ("documents", Self::DOCUMENTS),
        ("audio", Self::AUDIO),
        ("json_schema", Self::JSON_SCHEMA),
        ("json_object", Self::JSON_OBJECT),
        ("reasoning", Self::REASONING),
        ("logprobs", Self::LOGPROBS),
        ("server_tools", Self::SERVER_TOOLS),
        ("streaming", Self::STREAMING),
        ("video", Self::VIDEO),
        ("audio_output", Self::AUDIO_OUTPUT),
        ("image_output", Self::IMAGE_OUTPUT),
        ("guardrails", Self::GUARDRAILS),
    ];

    /// Both sets.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Adds a set.
    pub const fn add(&mut self, other: Self) {
        self.0 |= other.0;
    }

    /// What is in both.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Whether the set is empty.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The names of what is in it.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        Self::NAMES.into_iter().filter(move |(_, f)| self.0 & f.0 != 0).map(|(name, _)| name)
    }
}

impl fmt::Debug for Features {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.names()).finish()
    }
}

impl Serialize for Features {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.names())
    }
}

impl<'de> Deserialize<'de> for Features {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut set = Self::NONE;
        for name in Vec::<Cow<'de, str>>::deserialize(deserializer)? {
            let known = Self::NAMES.into_iter().find(|(n, _)| *n == name);
            let (_, feature) = known.ok_or_else(|| D::Error::custom(format!("unknown feature `{name}`")))?;
            set.add(feature);
        }
        Ok(set)
    }
}

impl JsonSchema for Features {
    fn schema_name() -> Cow<'static, str> {
        "Features".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let names: Vec<_> = Self::NAMES.iter().map(|(name, _)| *name).collect();
        json_schema!({ "type": "array", "items": { "enum": names }, "uniqueItems": true })
    }
}
