//! Who reads what an answer cost that is passed on as it is.

use trestle_dialect::{
    Dialect, Outbound, Pictures, embed,
    ir::Usage,
    json::{self, Raw},
    media_usage, outbound,
};

/// A reader of usage.
#[derive(Clone, Copy)]
pub(crate) enum Meter {
    /// Of a dialect.
    Dialect(&'static dyn Outbound),
    /// Of a form of embeddings.
    Embeds(&'static dyn embed::Embeds),
    /// Of sound and pictures.
    Media,
}

/// The answer is not JSON.
#[derive(Debug)]
pub(crate) struct NotJson;

impl Meter {
    /// Usage in a whole answer, which is checked on the way.
    pub(crate) fn in_whole(self, answer: &[u8]) -> Result<Option<Usage>, NotJson> {
        let member = |name| json::Raw::outline(answer, name).map_err(|_| NotJson);
        match self {
            Self::Dialect(codec) => Ok(member(codec.usage_member())?.and_then(|usage| codec.usage(usage))),
            Self::Embeds(codec) => Ok(member(codec.usage_member())?.and_then(|usage| codec.usage(usage))),
            Self::Media => Raw::parse(answer).map(media_usage).map_err(|_| NotJson),
        }
    }

    /// Usage in the last bytes of a large answer.
    pub(crate) fn in_tail(self, tail: &[u8]) -> Option<Usage> {
        match self {
            Self::Dialect(codec) => codec.usage_in_tail(tail),
            Self::Embeds(codec) => codec.usage_in_tail(tail),
            Self::Media => outbound(Dialect::OpenAiChat).usage_in_tail(tail),
        }
    }

    /// Counts the pictures in a large answer.
    pub(crate) fn pictures(self) -> Option<Pictures> {
        matches!(self, Self::Media).then(Pictures::default)
    }
}
