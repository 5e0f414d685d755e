//! Thought signatures. The member holds bytes, and Google's clients decode it: what is carried for another vendor is
//! put into base64 as a whole.

use super::base64;
use crate::{
    Dialect,
    ir::{Sealed, Text},
};

const SELF: Dialect = Dialect::Gemini;

/// How base64 of `trestle:` begins.
const FOREIGN: &[u8] = b"dHJlc3RsZT";

/// What stood in a body: the vendor's own, or another's that was carried.
pub(super) fn read(text: Text) -> Sealed {
    let carried = if text.escaped().starts_with(FOREIGN) { base64::decode(&text) } else { None };
    match carried.map(|plain| Sealed::read(SELF, Text::new(&plain))) {
        Some(foreign) if foreign.dialect != SELF => foreign,
        _ => Sealed { dialect: SELF, data: text },
    }
}

/// What is written for a client that will send it back.
pub(super) fn carried(sealed: &Sealed) -> Text {
    match sealed.dialect {
        SELF => sealed.data.clone(),
        _ => base64::encode(&sealed.carried(SELF).plain()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn others_are_carried_as_bytes() {
        let own = read(Text::new("CiQB0e2Kb-_"));
        assert_eq!((own.dialect, carried(&own)), (SELF, Text::new("CiQB0e2Kb-_")));
        let sealed = Sealed { dialect: Dialect::AnthropicMessages, data: Text::new("Er==>?~") };
        let text = carried(&sealed);
        assert!(text.escaped().starts_with(FOREIGN));
        assert_eq!(read(text.clone()), sealed);
        // As Google's client for Python sends it back.
        let for_urls = text.plain().replace('+', "-").replace('/', "_");
        assert_eq!(read(Text::new(&for_urls)), sealed);
        let nobody = base64::encode("trestle:nobody:x");
        assert_eq!(read(nobody.clone()), Sealed { dialect: SELF, data: nobody });
    }
}
