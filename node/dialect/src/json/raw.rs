//! A checked JSON value, read lazily: nothing is allocated until something is asked for.

use super::{Error, Names, Scan, escapes_to, number, shown, unescape, walk::Walk};
use crate::ir::{Json, Text};
use bytes::Bytes;
use std::borrow::Cow;

/// A valid JSON value without white space around it: its exact bytes. Reading walks the bytes again; each level
/// that is descended costs one more pass, copies cost nothing. Of bytes that are no valid value, the answers have
/// no meaning, but nothing panics.
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

/// An object that was cut off, or none at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Incomplete;

/// A member of an object.
#[derive(Debug, Clone, Copy)]
pub struct Member<'a> {
    /// The inside of the name, escaped.
    pub key: &'a [u8],
    /// Its value.
    pub value: Raw<'a>,
}

impl<'a> Raw<'a> {
    /// Checks a whole document: grammar, UTF-8, depth, nothing after the value; white space around it is allowed.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Error> {
        let mut scan = Scan::new(bytes)?;
        let at = scan.value()?;
        scan.end()?;
        Ok(Self(&bytes[at]))
    }

    /// One member of an object that nobody has checked, if its strings and brackets are complete; what is in it may
    /// still be wrong. For answers that are passed on: a quick look in which one that was cut off cannot be missed.
    pub fn outline(bytes: &'a [u8], name: &str) -> Result<Option<Self>, Incomplete> {
        let mut walk = Walk::into(bytes.trim_ascii(), b'{');
        let mut found = None;
        while let Some(member) = walk.member() {
            if found.is_none() && member.is(name) {
                found = Some(member.value);
            }
        }
        if walk.closed() { Ok(found) } else { Err(Incomplete) }
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
        match self.0.first() {
            Some(b'"') => Kind::String,
            Some(b'{') => Kind::Object,
            Some(b'[') => Kind::Array,
            Some(b't' | b'f') => Kind::Bool,
            Some(b'-' | b'0'..=b'9') => Kind::Number,
            _ => Kind::Null,
        }
    }

    /// The members in order; empty if it is not an object. Does not look for duplicates.
    pub fn members(self) -> impl Iterator<Item = Member<'a>> {
        let mut walk = Walk::into(self.0, b'{');
        std::iter::from_fn(move || walk.member())
    }

    /// The members in order, duplicates refused by name; `None` if it is not an object.
    pub fn unique_members(self) -> Option<Result<Vec<Member<'a>>, String>> {
        if self.kind() != Kind::Object {
            return None;
        }
        let mut names = Names::default();
        let unique = |member: Member<'a>| {
            if names.add(member.key) { Ok(member) } else { Err(shown(member.key)) }
        };
        Some(self.members().map(unique).collect())
    }

    /// The first member of that name, if it is an object.
    pub fn get(self, name: &str) -> Option<Raw<'a>> {
        self.members().find(|member| member.is(name)).map(|member| member.value)
    }

    /// The elements in order; empty if it is not an array.
    pub fn elements(self) -> impl Iterator<Item = Raw<'a>> {
        let mut walk = Walk::into(self.0, b'[');
        std::iter::from_fn(move || walk.element())
    }

    /// The inside of a string, escaped.
    pub fn escaped(self) -> Option<&'a [u8]> {
        self.0.strip_prefix(b"\"")?.strip_suffix(b"\"")
    }

    /// A string, unescaped where need be.
    pub fn string(self) -> Option<Cow<'a, str>> {
        self.escaped().map(unescape)
    }

    /// Whether it is exactly this string.
    pub fn is_str(self, plain: &str) -> bool {
        self.escaped().is_some_and(|escaped| escapes_to(escaped, plain))
    }

    /// A boolean.
    pub fn bool(self) -> Option<bool> {
        match self.0 {
            b"true" => Some(true),
            b"false" => Some(false),
            _ => None,
        }
    }

    /// A whole number that is not negative; `1.0` and `1e2` count.
    pub fn u64(self) -> Option<u64> {
        number::u64(self.0)
    }

    /// A number; `None` also for one that is too large for the type.
    pub fn f64(self) -> Option<f64> {
        number::f64(self.0)
    }

    /// Whether it is `null`.
    pub fn is_null(self) -> bool {
        self.0 == b"null"
    }

    /// A string to keep. It shares `owner`'s memory where it lies in it, else it is copied.
    pub fn text(self, owner: &Bytes) -> Option<Text> {
        self.escaped().map(|escaped| Text::from_escaped(shared(owner, escaped)))
    }

    /// The value to keep. It shares `owner`'s memory where it lies in it, else it is copied.
    pub fn json(self, owner: &Bytes) -> Json {
        Json::from_valid(shared(owner, self.0))
    }
}

impl Member<'_> {
    /// Whether the name is exactly this.
    pub fn is(&self, name: &str) -> bool {
        escapes_to(self.key, name)
    }
}

/// A part as a slice of its owner, or a copy if it lies elsewhere.
fn shared(owner: &Bytes, part: &[u8]) -> Bytes {
    match offset_in(owner, part) {
        Some(at) => owner.slice(at..at + part.len()),
        None => Bytes::copy_from_slice(part),
    }
}

/// Where a part lies in the memory of the whole, if it does.
pub(crate) fn offset_in(whole: &[u8], part: &[u8]) -> Option<usize> {
    let at = (part.as_ptr() as usize).checked_sub(whole.as_ptr() as usize)?;
    (at.checked_add(part.len())? <= whole.len()).then_some(at)
}
