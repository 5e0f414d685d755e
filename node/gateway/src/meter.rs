//! Who reads what an answer cost that is passed on as it is.

use trestle_dialect::{Outbound, embed, ir::Usage, json::Raw};

/// A reader of usage.
#[derive(Clone, Copy)]
pub(crate) enum Meter {
    /// Of a dialect.
    Dialect(&'static dyn Outbound),
    /// Of a form of embeddings.
    Embeds(&'static dyn embed::Embeds),
}

impl Meter {
    /// The member of a whole answer that holds its usage.
    pub(crate) fn member(self) -> &'static str {
        match self {
            Self::Dialect(codec) => codec.usage_member(),
            Self::Embeds(codec) => codec.usage_member(),
        }
    }

    /// Reads that member.
    pub(crate) fn read(self, member: Raw<'_>) -> Option<Usage> {
        match self {
            Self::Dialect(codec) => codec.usage(member),
            Self::Embeds(codec) => codec.usage(member),
        }
    }

    /// Usage in the last bytes of a large answer.
    pub(crate) fn in_tail(self, tail: &[u8]) -> Option<Usage> {
        match self {
            Self::Dialect(codec) => codec.usage_in_tail(tail),
            Self::Embeds(codec) => codec.usage_in_tail(tail),
        }
    }
}
