//! A vendor as a row of data, in `listed.toml` and in the document.

use crate::{Endpoints, variables};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use trestle_dialect::{Dialect, Quirks};

/// A vendor: where it is, what it speaks, and how it departs from the dialect that it speaks.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Row {
    /// Where the API begins, with its version, such as `https://api.openai.com/v1`.
    pub base_url: String,
    /// What it speaks, best first. A request is sent in its own dialect if that is among them, else in the first.
    pub dialects: Vec<Dialect>,
    /// How a key is presented.
    #[serde(default)]
    pub auth: Auth,
    /// Environment variables in which `trestle dev` looks for a key.
    #[serde(default)]
    pub env: Vec<String>,
    /// Paths below `base_url`, where they differ from the dialect's own.
    #[serde(default)]
    pub endpoints: Endpoints,
    /// Headers that are always sent, unless the client's own went on.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// Headers of the client that go on to it, in lower case, beside those that every provider gets.
    #[serde(default)]
    pub forward_headers: Vec<String>,
    /// How it departs from its dialect.
    #[serde(default)]
    pub quirks: Quirks,
    /// What stands for `{name}` in `base_url` and `endpoints`. An empty one has to be set in the document.
    #[serde(default)]
    pub variables: BTreeMap<String, String>,
    /// Members that every body gets, such as a version that others put into a header.
    #[serde(default)]
    pub body: BTreeMap<String, Value>,
    /// Whose credentials it takes beside keys, as bearer tokens or for signatures.
    #[serde(default)]
    pub cloud: Option<Cloud>,
    /// Which file of `coded/` does what a row cannot say.
    #[serde(default)]
    pub coded: Option<String>,
}

impl Row {
    /// A vendor of which nothing else is known.
    pub fn new(base_url: String, dialects: Vec<Dialect>) -> Self {
        Self {
            base_url,
            dialects,
            auth: Auth::default(),
            env: Vec::new(),
            endpoints: Endpoints::default(),
            headers: BTreeMap::new(),
            forward_headers: Vec::new(),
            quirks: Quirks::default(),
            variables: BTreeMap::new(),
            body: BTreeMap::new(),
            cloud: None,
            coded: None,
        }
    }

    /// Whether its URL or one of its paths holds `{name}`.
    pub fn uses(&self, name: &str) -> bool {
        variables::is_used(self, name)
    }
}

/// Who issues credentials that are fetched and renewed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Cloud {
    /// Amazon.
    Aws,
    /// Google.
    Google,
    /// Microsoft.
    Entra,
}

impl Cloud {
    /// The member of a key that holds such credentials.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Aws => "aws",
            Self::Google => "google",
            Self::Entra => "entra",
        }
    }
}

/// How a key is presented.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Auth {
    /// `authorization: Bearer KEY`.
    #[default]
    Bearer,
    /// The key in a header of this name.
    Header(String),
    /// No key.
    None,
}
