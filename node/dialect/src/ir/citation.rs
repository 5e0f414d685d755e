//! Where a piece of an answer comes from, and how likely its tokens were.

use super::{Json, Text};
use crate::Dialect;

/// A source of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Citation {
    /// Whose words `json` has.
    pub dialect: Dialect,
    /// The vendor's own object, which goes back verbatim.
    pub json: Json,
    /// The part of the block's text that is meant, in characters from its beginning; from and to. `None`: all of it.
    pub span: Option<(u64, u64)>,
    /// Of a page.
    pub url: Option<Text>,
    /// Of the page or document.
    pub title: Option<Text>,
    /// What the source says.
    pub cited_text: Option<Text>,
}

/// A token of the answer and those that were nearly chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenLogprob {
    /// The one that was chosen.
    pub chosen: Likelihood,
    /// The likeliest ones, where they were asked for.
    pub top: Vec<Likelihood>,
}

/// How likely a token was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Likelihood {
    /// The token.
    pub token: Text,
    /// The natural logarithm of its probability, as it was written.
    pub logprob: Json,
    /// Its bytes as an array of numbers, where the vendor gives them.
    pub bytes: Option<Json>,
}
