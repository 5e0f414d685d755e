//! What is said of a streamed answer as a whole, in one chunk before its end: where it comes from, and the proof of
//! its text. The vendor does so too, and clients that put chunks together take each of these members only once.

use crate::{
    dropped,
    ir::{Citation, Sealed, Text},
    json,
    openai_chat::{annotations, proof},
};

/// Most bytes of citations that wait for the end.
const WAITING_BYTES_MAX: usize = 1 << 20;

/// What a citation costs besides its JSON, about.
const CITATION_BYTES: usize = 256;

/// What waits for the end of the answer.
#[derive(Default)]
pub(super) struct Sources {
    /// Characters of content so far.
    chars: u64,
    citations: Vec<Cited>,
    bytes: usize,
    proof: Option<Text>,
}

/// A citation and the characters of the content that it means; the end of a block that is open is not known yet.
struct Cited {
    citation: Citation,
    from: u64,
    to: Option<u64>,
}

impl Sources {
    /// How many characters of content there are.
    pub(super) const fn chars(&self) -> u64 {
        self.chars
    }

    /// More content.
    pub(super) fn said(&mut self, text: &Text) {
        self.chars += text.chars();
    }

    /// A citation of the block that began at this character.
    pub(super) fn cite(&mut self, citation: &Citation, begin: u64, dropped: &mut Vec<String>) {
        if !annotations::expressible(citation, "content[].", dropped) {
            return;
        }
        self.bytes = self.bytes.saturating_add(citation.json.bytes().len() + CITATION_BYTES);
        if self.bytes > WAITING_BYTES_MAX {
            return dropped::note(dropped, "content[].citations");
        }
        let (from, to) = annotations::in_message(citation, begin, u64::MAX);
        let to = citation.span.map(|_| to);
        self.citations.push(Cited { citation: citation.clone(), from, to });
    }

    /// The block is complete: what was said of all of it ends here.
    pub(super) fn close_block(&mut self) {
        let end = self.chars;
        for cited in self.citations.iter_mut().rev() {
            cited.to.get_or_insert(end);
        }
    }

    /// The proof of a text; the message has room for one.
    pub(super) fn prove(&mut self, sealed: &Sealed, dropped: &mut Vec<String>) {
        if let Some(proof) = proof::own(Some(sealed), "content[].", dropped)
            && self.proof.replace(proof.clone()).is_some()
        {
            dropped::note(dropped, "content[].signature");
        }
    }

    /// Whether nothing waits.
    pub(super) const fn is_empty(&self) -> bool {
        self.citations.is_empty() && self.proof.is_none()
    }

    /// Writes the members of the delta.
    pub(super) fn write(&self, delta: &mut json::Writer) {
        if !self.citations.is_empty() {
            delta.key("annotations");
            delta.begin_array();
            for cited in &self.citations {
                annotations::write(&cited.citation, (cited.from, cited.to.unwrap_or(self.chars)), delta);
            }
            delta.end_array();
        }
        if let Some(proof) = &self.proof {
            proof::write(proof, delta);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Dialect, ir::Json};

    #[test]
    fn what_waits_is_bounded() {
        let (mut sources, mut dropped) = (Sources::default(), Vec::new());
        let citation = Citation {
            dialect: Dialect::AnthropicMessages,
            json: Json::fixed("{}"),
            span: None,
            url: Some(Text::fixed("u")),
            title: None,
            cited_text: None,
        };
        for _ in 0..10_000 {
            sources.cite(&citation, 0, &mut dropped);
        }
        assert!(sources.citations.len() < 5000);
        assert_eq!(dropped, ["content[].citations"]);
    }
}
