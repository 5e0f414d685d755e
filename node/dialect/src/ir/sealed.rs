//! What only one vendor can read: signatures and encrypted reasoning, and how they travel through other dialects.

use super::{BlockKind, Message, Request, Text};
use crate::Dialect;

/// Begins what another dialect carries for its vendor: `trestle:DIALECT:DATA`.
const FOREIGN: &[u8] = b"trestle:";

/// An opaque proof or an encrypted text, which goes back verbatim to those who wrote it and to nobody else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sealed {
    /// Whose it is.
    pub dialect: Dialect,
    /// What it says.
    pub data: Text,
}

impl Sealed {
    /// What stood in a body of `own`: its own, or another's that was carried.
    pub fn read(own: Dialect, text: Text) -> Self {
        let carried = text.escaped().strip_prefix(FOREIGN).and_then(|rest| {
            let colon = memchr::memchr(b':', rest)?;
            let (name, _) = rest.split_at(colon);
            let dialect = Dialect::ALL.into_iter().find(|dialect| dialect.name().as_bytes() == name)?;
            Some((dialect, FOREIGN.len() + colon + 1))
        });
        match carried {
            Some((dialect, from)) => Self { dialect, data: text.part(from..text.escaped().len()) },
            None => Self { dialect: own, data: text },
        }
    }

    /// What is written for a client that speaks `own` and will send it back.
    pub fn carried(&self, own: Dialect) -> Text {
        if self.dialect == own {
            return self.data.clone();
        }
        let name = self.dialect.name().as_bytes();
        Text::from_escaped([FOREIGN, name, b":", self.data.escaped()].concat().into())
    }

    /// What is written for a provider that speaks `own`, if it can read it. Models of Anthropic sign alike wherever
    /// they run.
    pub fn meant_for(&self, own: Dialect) -> Option<&Text> {
        let claude = |dialect| matches!(dialect, Dialect::AnthropicMessages | Dialect::BedrockConverse);
        (self.dialect == own || (claude(self.dialect) && claude(own))).then_some(&self.data)
    }
}

impl Request {
    /// All that is sealed, in order.
    pub fn sealed(&self) -> impl Iterator<Item = &Sealed> {
        self.messages.iter().flat_map(|message| &message.blocks).flat_map(|block| {
            let redacted = match &block.kind {
                BlockKind::RedactedThinking(sealed) => Some(sealed),
                _ => None,
            };
            redacted.into_iter().chain(&block.signature)
        })
    }

    /// Shows all that is sealed to `change`.
    pub fn each_sealed(&mut self, mut change: impl FnMut(&mut Sealed)) {
        for block in self.messages.iter_mut().flat_map(|message: &mut Message| &mut message.blocks) {
            if let BlockKind::RedactedThinking(sealed) = &mut block.kind {
                change(sealed);
            }
            block.signature.iter_mut().for_each(&mut change);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn others_read_nothing_and_lose_nothing() {
        let (chat, messages) = (Dialect::OpenAiChat, Dialect::AnthropicMessages);
        let own = Sealed::read(messages, Text::new("a:b+/="));
        assert_eq!((own.dialect, own.data.clone()), (messages, Text::new("a:b+/=")));
        assert_eq!(own.carried(messages), Text::new("a:b+/="));
        let carried = own.carried(chat);
        assert_eq!(carried, Text::new("trestle:anthropic-messages:a:b+/="));
        assert_eq!(Sealed::read(chat, carried.clone()), own);
        assert_eq!(Sealed::read(messages, carried), own);
        assert_eq!(own.meant_for(chat), None);
        assert!(own.meant_for(Dialect::BedrockConverse).is_some());
        for odd in ["trestle:", "trestle:nobody:x", "trestle"] {
            assert_eq!(Sealed::read(chat, Text::new(odd)).data, Text::new(odd));
        }
    }
}
