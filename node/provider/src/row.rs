//! A vendor as a row of data, in `listed.toml` and in the document.

use crate::Endpoints;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
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
