//! What a request body is before anyone knows its dialect: its bytes and where its top-level members are.

use crate::{
    ir::{Json, Text},
    json::{Error, Member, Raw},
};
use bytes::Bytes;
use smallvec::SmallVec;

/// A checked body (grammar, UTF-8, depth, no duplicate top-level members, nothing behind it), and the spans in it.
#[derive(Debug, Clone)]
pub struct Envelope {
    body: Bytes,
}

/// What is sent: slices of the client's body and the pieces put between them.
pub type Pieces = SmallVec<[Bytes; 8]>;

#[allow(unused_variables, clippy::unimplemented)]
impl Envelope {
    /// Checks the body in one pass. Members beyond 4,096 are refused.
    pub fn parse(body: Bytes) -> Result<Self, Error> {
        unimplemented!()
    }

    /// The body as it came.
    pub fn body(&self) -> &Bytes {
        &self.body
    }

    /// A top-level member's value.
    pub fn get(&self, name: &str) -> Option<Raw<'_>> {
        unimplemented!()
    }

    /// A top-level member's string, sharing the body's memory.
    pub fn text(&self, name: &str) -> Option<Text> {
        unimplemented!()
    }

    /// The top-level members in order.
    pub fn members(&self) -> impl Iterator<Item = Member<'_>> {
        std::iter::empty()
    }
}

/// Changes to a body, by span. Bytes outside of them are not touched.
#[derive(Debug, Clone, Default)]
pub struct Edits {
    #[allow(dead_code)]
    changes: SmallVec<[(std::ops::Range<usize>, Bytes); 4]>,
}

#[allow(unused_variables, clippy::unimplemented)]
impl Edits {
    /// Sets a top-level member: replaces its value, or adds it at the end.
    pub fn set(&mut self, envelope: &Envelope, name: &str, value: Json) {
        unimplemented!()
    }

    /// Removes a top-level member with its comma, if it is there.
    pub fn remove(&mut self, envelope: &Envelope, name: &str) {
        unimplemented!()
    }

    /// Gives a top-level member another name, if it is there.
    pub fn rename(&mut self, envelope: &Envelope, from: &str, to: &str) {
        unimplemented!()
    }

    /// Replaces a value anywhere inside of the body; `at` must lie in the envelope's body.
    pub fn replace(&mut self, envelope: &Envelope, at: Raw<'_>, with: Bytes) {
        unimplemented!()
    }

    /// Whether nothing changes.
    pub fn is_empty(&self) -> bool {
        unimplemented!()
    }

    /// The body with the changes: slices of the old and the new pieces, nothing copied. Changes may have been made
    /// in any order; of two that overlap the later one counts (a `set` or `remove` of a whole member wins over
    /// what was replaced in it).
    pub fn apply(self, envelope: &Envelope) -> Pieces {
        unimplemented!()
    }
}
