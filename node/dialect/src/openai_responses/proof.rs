//! The proof of a reasoning item. The vendor wants two things back, the id of the item and its `encrypted_content`, and
//! other dialects carry one text: `ID:CONTENT`. Ids hold no colon; an item without an id begins with one. A stream opens
//! an item before its proof is known: there the item has an id of ours, and its content is `trestle:DIALECT:ID:CONTENT`.

use crate::{
    Dialect,
    ir::{Sealed, Text},
    routed,
};

const SELF: Dialect = Dialect::OpenAiResponses;

/// From the two members of an item. What a client carries has no use for the id.
pub(super) fn read(id: Option<Text>, encrypted: Text) -> Sealed {
    let sealed = Sealed::read(SELF, encrypted.clone());
    if sealed.dialect != SELF || sealed.data != encrypted {
        return sealed;
    }
    let id = id.filter(|id| !id.escaped().contains(&b':')).unwrap_or_default();
    Sealed { dialect: SELF, data: Text::join([&id, &sealed.data], ":") }
}

/// The two members of an item, for a client: the id may be empty.
pub(super) fn carried(sealed: &Sealed) -> (Text, Text) {
    match sealed.meant_for(SELF) {
        Some(data) => split(data),
        None => (Text::default(), sealed.carried(SELF)),
    }
}

/// The content of an item whose id is not the vendor's, for a client.
pub(super) fn carried_apart(sealed: &Sealed) -> Text {
    match sealed.meant_for(SELF) {
        Some(data) => Text::join([&Text::new(&format!("trestle:{}", SELF.name())), data], ":"),
        None => sealed.carried(SELF),
    }
}

/// The two members of an item, for a provider, if it can read them: what names a route was written by another one.
pub(super) fn meant_for_provider(sealed: &Sealed) -> Option<(Text, Text)> {
    let proof = sealed.meant_for(SELF).map(split);
    proof.filter(|(_, content)| !content.escaped().starts_with(routed::MARK))
}

fn split(data: &Text) -> (Text, Text) {
    let end = data.escaped().len();
    match memchr::memchr(b':', data.escaped()) {
        Some(colon) => (data.part(0..colon), data.part(colon + 1..end)),
        None => (Text::default(), data.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn id_and_content_travel_together() {
        let text = |plain: &str| Text::new(plain);
        for (id, content) in [("rs_1", "gAAA="), ("", "gAAA="), ("rs_1", "a:b"), ("", ":")] {
            let sealed = read(Some(text(id)), text(content));
            assert_eq!(sealed.data, text(&format!("{id}:{content}")));
            assert_eq!(carried(&sealed), (text(id), text(content)));
            assert_eq!(meant_for_provider(&sealed), Some((text(id), text(content))));
            assert_eq!(read(Some(text("rs_ours")), carried_apart(&sealed)), sealed);
            let through = Sealed::read(SELF, sealed.carried(Dialect::AnthropicMessages));
            assert_eq!(through, sealed, "another dialect carries it");
        }
        let foreign = read(Some(text("rs_1")), text("trestle:anthropic-messages:s:1"));
        assert_eq!(foreign, Sealed { dialect: Dialect::AnthropicMessages, data: text("s:1") });
        assert_eq!(carried(&foreign), (Text::default(), text("trestle:anthropic-messages:s:1")));
        assert_eq!(meant_for_provider(&foreign), None);
    }
}
