//! How a request for reasoning is told to Gemini.

use crate::{
    gemini::model::{Model, Thinks},
    ir::Reasoning,
};

/// What `thinkingConfig` becomes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Thinking {
    pub(super) amount: Amount,
    /// Whether it is not quite what was asked for.
    pub(super) is_near: bool,
}

/// How much.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Amount {
    /// The model cannot be told.
    Untold,
    /// As the model sees fit, which is so anyway.
    Free,
    /// As the model sees fit, said with a budget of -1.
    Dynamic,
    /// Up to so many tokens.
    Budget(u64),
    /// A level.
    Level(&'static str),
}

impl Thinking {
    /// Decides.
    pub(super) fn of(reasoning: &Reasoning, model: Model) -> Self {
        let exactly = |amount| Self { amount, is_near: false };
        match model.thinks() {
            Thinks::Never => Self { amount: Amount::Untold, is_near: reasoning.enabled },
            Thinks::Level { lowest } if !reasoning.enabled => {
                Self { amount: Amount::Level(lowest), is_near: true }
            }
            // The newer models take budgets as well.
            Thinks::Level { lowest } => match (reasoning.budget_tokens, &reasoning.effort) {
                (Some(tokens), _) => exactly(Amount::Budget(tokens)),
                (None, Some(effort)) => level(&effort.plain(), lowest),
                (None, None) => exactly(Amount::Free),
            },
            Thinks::Budget { least, .. } if !reasoning.enabled => {
                Self { amount: Amount::Budget(least), is_near: least > 0 }
            }
            Thinks::Budget { least, most } => {
                // The client's own number, and not the least one of another vendor.
                match reasoning.budget_tokens.or_else(|| reasoning.budget()) {
                    Some(tokens) => {
                        let near = tokens.clamp(least.max(1), most);
                        let is_near = near != tokens && reasoning.budget_tokens.is_some();
                        Self { amount: Amount::Budget(near), is_near }
                    }
                    None if model.thinks_by_itself() => exactly(Amount::Free),
                    None => exactly(Amount::Dynamic),
                }
            }
        }
    }
}

/// The level that goes with an effort; the highest for one that is above all.
fn level(effort: &str, lowest: &'static str) -> Thinking {
    let (level, is_near) = match effort {
        "minimal" => (lowest, lowest != "MINIMAL"),
        "low" => ("LOW", false),
        "medium" => ("MEDIUM", false),
        "high" => ("HIGH", false),
        _ => ("HIGH", true),
    };
    Thinking { amount: Amount::Level(level), is_near }
}
