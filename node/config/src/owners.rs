//! Whom keys belong to, as an operator writes it.

use crate::{BudgetEntry, LimitEntry};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A customer: what its teams and keys use counts for it too.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct CustomerEntry {
    /// What all of it together may use.
    pub limits: Vec<LimitEntry>,
    /// What all of it together may spend.
    pub budgets: Vec<BudgetEntry>,
    /// Words by which what its keys use is told apart.
    pub tags: Vec<String>,
}

/// A team: what its keys and users use counts for it too.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TeamEntry {
    /// The customer that it belongs to: a name in `customers`.
    pub customer: Option<String>,
    /// What all of it together may use.
    pub limits: Vec<LimitEntry>,
    /// What all of it together may spend.
    pub budgets: Vec<BudgetEntry>,
    /// Words by which what its keys use is told apart.
    pub tags: Vec<String>,
}

/// A user: what all keys of one person use counts for it too.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct UserEntry {
    /// The team that it belongs to: a name in `teams`. Its keys belong to that team then.
    pub team: Option<String>,
    /// What all its keys together may use.
    pub limits: Vec<LimitEntry>,
    /// What all its keys together may spend.
    pub budgets: Vec<BudgetEntry>,
    /// Words by which what its keys use is told apart.
    pub tags: Vec<String>,
}
