//! A checked JSON value, read lazily: nothing is allocated until something is asked for.

use super::Error;
use crate::ir::{Json, Text};
use bytes::Bytes;
use std::borrow::Cow;

/// A valid JSON value without white space around it: its exact bytes. Reading walks the bytes again; each level
/// that is descended costs one more pass, copies cost nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Raw<'a>(&'a [u8]);

/// What a value is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Kind {
    Null,
    Bool,
    Number,
    String,
    Array,
    Object,
}

/// A member of an object.
#[derive(Debug, Clone, Copy)]
pub struct Member<'a> {
    /// The inside of the name, escaped.
    pub key: &'a [u8],
    /// Its value.
    pub value: Raw<'a>,
}

#[allow(unused_variables, clippy::unimplemented)]
impl<'a> Raw<'a> {
    /// Checks a whole document: grammar, UTF-8, depth, nothing after the value; white space around it is allowed.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Error> {
        unimplemented!()
    }

    /// From bytes that `parse` or the envelope has checked, without white space around them.
    pub fn from_valid(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// The exact bytes.
    pub fn bytes(self) -> &'a [u8] {
        self.0
    }

    /// What it is.
    pub fn kind(self) -> Kind {
        unimplemented!()
    }

    /// The members in order; empty if it is not an object. Does not look for duplicates.
    pub fn members(self) -> impl Iterator<Item = Member<'a>> {
        std::iter::empty()
    }

    /// The members in order, duplicates refused by name; `None` if it is not an object.
    pub fn unique_members(self) -> Option<Result<Vec<Member<'a>>, String>> {
        unimplemented!()
    }

    /// The first member of that name, if it is an object.
    pub fn get(self, name: &str) -> Option<Raw<'a>> {
        unimplemented!()
    }

    /// The elements in order; empty if it is not an array.
    pub fn elements(self) -> impl Iterator<Item = Raw<'a>> {
        std::iter::empty()
    }

    /// The inside of a string, escaped.
    pub fn escaped(self) -> Option<&'a [u8]> {
        unimplemented!()
    }

    /// A string, unescaped where need be.
    pub fn string(self) -> Option<Cow<'a, str>> {
        unimplemented!()
    }

    /// Whether it is exactly this string.
    pub fn is_str(self, plain: &str) -> bool {
        unimplemented!()
    }

    /// A boolean.
    pub fn bool(self) -> Option<bool> {
        unimplemented!()
    }

    /// A whole number that is not negative; `1.0` and `1e2` count.
    pub fn u64(self) -> Option<u64> {
        unimplemented!()
    }

    /// A number.
    pub fn f64(self) -> Option<f64> {
        unimplemented!()
    }

    /// Whether it is `null`.
    pub fn is_null(self) -> bool {
        self.0 == b"null"
    }

    /// A string to keep. It shares `owner`'s memory where it lies in it, else it is copied.
    pub fn text(self, owner: &Bytes) -> Option<Text> {
        unimplemented!()
    }

    /// The value to keep. It shares `owner`'s memory where it lies in it, else it is copied.
    pub fn json(self, owner: &Bytes) -> Json {
        unimplemented!()
    }
}

impl Member<'_> {
    /// Whether the name is exactly this.
    pub fn is(&self, name: &str) -> bool {
        self.key == name.as_bytes() || super::unescape(self.key) == name
    }
}
