//! A part of a message, while it is told and when it is repeated.

use super::super::output;
use crate::{
    Dialect,
    ir::{Citation, Sealed, Text, TokenLogprob},
    json::Writer,
};

const SELF: Dialect = Dialect::OpenAiResponses;

/// A part of a message.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) said: Said,
    pub(super) text: Vec<u8>,
    /// Each written already.
    pub(super) annotations: Vec<Vec<u8>>,
    /// Those that stand for the whole text.
    pub(super) waiting: Vec<Citation>,
    pub(super) logprobs: Vec<TokenLogprob>,
    pub(super) proof: Option<Sealed>,
    /// The part as it is repeated, when it is done.
    pub(super) done: Option<Vec<u8>>,
}

/// What a part is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Said {
    /// Text.
    Text,
    /// The model declines.
    Refusal,
}

impl Part {
    /// Nothing of it has been told.
    pub(super) fn new(said: Said) -> Self {
        Self {
            said,
            text: Vec::new(),
            annotations: Vec::new(),
            waiting: Vec::new(),
            logprobs: Vec::new(),
            proof: None,
            done: None,
        }
    }

    /// Writes it as it is now.
    pub(super) fn write(&self, out: &mut Writer) {
        let text = Text::from_escaped(self.text.clone().into());
        if self.said == Said::Refusal {
            return output::refusal_part(out, &text);
        }
        let signature = self.proof.as_ref().map(|proof| proof.carried(SELF));
        let annotations = |out: &mut Writer| {
            out.begin_array();
            self.annotations.iter().for_each(|annotation| out.raw(annotation));
            out.end_array();
        };
        output::text_part(out, &text, annotations, &self.logprobs, signature.as_ref());
    }
}
