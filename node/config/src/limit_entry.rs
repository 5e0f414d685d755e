//! Limits and budgets as an operator writes them.

use crate::{AtLimit, Mode, OnPartition, OnShort};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A limit: exactly one of `requests`, `tokens`, `input_tokens`, `output_tokens` and `concurrent`, and over which time.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LimitEntry {
    /// What its usage is kept by, one of each name for an owner; default measure and time, such as `requests/1m`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Requests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests: Option<u64>,
    /// Tokens, of input and output together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// Tokens of the input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_tokens: Option<u64>,
    /// Tokens of the output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_tokens: Option<u64>,
    /// Calls that run at once; has no `per`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub concurrent: Option<u64>,
    /// Over which time: a length such as `30s`, `1m`, `1h`, `7d`, which rolls, or a unit of the calendar in UTC: `second`,
    /// `minute`, `hour`, `day`, `week`, `month`, `year`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per: Option<String>,
    /// The day that a `week` begins with. Default `monday`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub week_starts: Option<WeekStart>,
    /// The month that a `year` begins with, from 1 to 12. Default 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 12))]
    pub year_starts: Option<u8>,
    /// How hard it is. Default `soft`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<Mode>,
    /// What becomes of a call that what is left is not enough for. Default `refuse`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_short: Option<OnShort>,
    /// What a node does that is cut off from others of its cluster. Default `share`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_partition: Option<OnPartition>,
    /// What becomes of calls once nothing is left. Default `refuse`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_limit: Option<AtLimit>,
    /// Percents at which a warning is due.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(inner(range(min = 1, max = 100)))]
    pub warn_at: Vec<u8>,
    /// Other amounts for some windows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub overrides: Vec<LimitOverride>,
}

/// Another amount of a limit for some windows.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LimitOverride {
    /// What may be used in each of these windows.
    pub amount: u64,
    /// A time in the first of them, in UTC, such as `2027-01-31T00:00:00Z`.
    pub from: String,
    /// How many windows.
    pub windows: u32,
}

/// A budget: US dollars over some time.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BudgetEntry {
    /// What its usage is kept by, one of each name for an owner; default money and time, such as `usd/month`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// US dollars.
    pub usd: Usd,
    /// Over which time, as for a limit.
    pub per: String,
    /// The day that a `week` begins with. Default `monday`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub week_starts: Option<WeekStart>,
    /// The month that a `year` begins with, from 1 to 12. Default 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 12))]
    pub year_starts: Option<u8>,
    /// How hard it is. Default `strict`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<Mode>,
    /// What becomes of a call that what is left is not enough for. Default `refuse`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_short: Option<OnShort>,
    /// What a node does that is cut off from others of its cluster. Default `share`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_partition: Option<OnPartition>,
    /// What becomes of calls once nothing is left. Default `refuse`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_limit: Option<AtLimit>,
    /// Percents at which a warning is due.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(inner(range(min = 1, max = 100)))]
    pub warn_at: Vec<u8>,
    /// Other amounts for some windows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub overrides: Vec<BudgetOverride>,
}

/// Another amount of a budget for some windows.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BudgetOverride {
    /// What may be spent in each of these windows.
    pub usd: Usd,
    /// A time in the first of them, in UTC, such as `2027-01-31T00:00:00Z`.
    pub from: String,
    /// How many windows.
    pub windows: u32,
}

/// An amount of US dollars with at most nine decimals. As a number it is exact up to 15 digits, as text always.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Usd {
    /// Such as `12.5`.
    Number(serde_json::Number),
    /// Such as `"12.50"`.
    Text(String),
}

/// The day that a week begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs)]
pub enum WeekStart {
    Monday,
    Tuesday,
    Wednesday,
    Thursday,
    Friday,
    Saturday,
    Sunday,
}

impl BudgetEntry {
    /// Nothing but an amount and a time.
    pub fn new(usd: Usd, per: impl Into<String>) -> Self {
        Self {
            name: None,
            usd,
            per: per.into(),
            week_starts: None,
            year_starts: None,
            mode: None,
            on_short: None,
            on_partition: None,
            at_limit: None,
            warn_at: Vec::new(),
            overrides: Vec::new(),
        }
    }
}

/// Limits and budgets of a key at one provider.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProviderLimits {
    /// What it may use there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<LimitEntry>,
    /// What it may spend there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub budgets: Vec<BudgetEntry>,
}
