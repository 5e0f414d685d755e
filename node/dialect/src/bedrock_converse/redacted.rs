//! Redacted reasoning, which is bytes on this wire: base64 in its JSON.

use crate::{
    Dialect,
    ir::{Sealed, Text},
};
use aws_smithy_types::base64;

const SELF: Dialect = Dialect::BedrockConverse;

/// How what another dialect sealed begins: `trestle:` in base64, as far as its letters are whole.
const FOREIGN: &str = "dHJlc3RsZT";

/// What stood in `redactedContent` of a client: the vendor's own bytes, or another's that were carried.
pub(super) fn read(text: Text) -> Sealed {
    let carried = text.plain().starts_with(FOREIGN).then(|| base64::decode(text.plain()).ok()).flatten();
    let carried = carried.and_then(|bytes| String::from_utf8(bytes).ok());
    match carried.map(|plain| Sealed::read(SELF, Text::new(&plain))) {
        Some(sealed) if sealed.dialect != SELF => sealed,
        _ => Sealed { dialect: SELF, data: text },
    }
}

/// What is written for a client. Clients decode it, so what another dialect sealed is encoded as a whole.
pub(super) fn write(sealed: &Sealed) -> Text {
    if sealed.dialect == SELF {
        return sealed.data.clone();
    }
    Text::new(&base64::encode(sealed.carried(SELF).plain().as_bytes()))
}

/// What is written for a provider, if it can read it.
pub(super) fn for_provider(sealed: &Sealed) -> Option<&Text> {
    let data = sealed.meant_for(SELF)?;
    (sealed.dialect == SELF || base64::decode(data.plain()).is_ok()).then_some(data)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_seals_of_others_are_bytes_too() {
        for dialect in [Dialect::AnthropicMessages, Dialect::OpenAiChat, SELF] {
            let sealed = Sealed { dialect, data: Text::new("EmwKAhgBEgy3=") };
            let written = write(&sealed);
            assert_eq!(read(written.clone()), sealed);
            assert!(dialect == SELF || base64::decode(written.plain()).is_ok());
        }
        let odd = Text::new("dHJlc3RsZTp?");
        assert_eq!(read(odd.clone()), Sealed { dialect: SELF, data: odd });
        let other = Sealed { dialect: Dialect::AnthropicMessages, data: Text::new("no base64!") };
        assert_eq!(for_provider(&other), None);
    }
}
