//! Who changes something, from where, and what was asked: kept with each revision.

use serde::{Deserialize, Serialize};
use std::{fmt, net::IpAddr};

/// Longest text of what was asked.
const ACTION_BYTES_MAX: usize = 512;

/// Kept with a revision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub(crate) struct Origin {
    /// The name of an admin token, or of what in this process acts.
    pub(crate) actor: String,
    /// The role of the token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) role: Option<Role>,
    /// How it came.
    pub(crate) via: Via,
    /// The address that it came from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub(crate) from: Option<IpAddr>,
    /// What was asked, such as `PUT /api/keys/web`.
    pub(crate) action: String,
}

/// How a change came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Via {
    /// The admin API.
    Api,
    /// The document of `--document`.
    File,
    /// The start of a node.
    Start,
}

/// What an admin token allows; each role may do what those before it may.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Serialize,
    Deserialize,
    clap::ValueEnum,
    utoipa::ToSchema,
)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Role {
    /// Reads all but admin tokens.
    Viewer,
    /// Changes the document.
    Operator,
    /// Makes and revokes admin tokens.
    Admin,
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Viewer => "viewer",
            Self::Operator => "operator",
            Self::Admin => "admin",
        })
    }
}

impl Origin {
    /// A part of this process.
    pub(crate) fn of_process(via: Via, action: impl Into<String>) -> Self {
        Self { actor: "node".to_owned(), role: None, via, from: None, action: action.into() }
    }

    /// As it is kept.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut kept = self.clone();
        let end = kept.action.floor_char_boundary(ACTION_BYTES_MAX);
        kept.action.truncate(end);
        // Text and enumerations only: it always is JSON.
        serde_json::to_vec(&kept).unwrap_or_default()
    }

    /// What was kept; of another version what can be read.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Self {
        serde_json::from_slice(bytes).unwrap_or_else(|_| Self {
            actor: "unknown".to_owned(),
            role: None,
            via: Via::Api,
            from: None,
            action: String::from_utf8_lossy(bytes).into_owned(),
        })
    }
}
