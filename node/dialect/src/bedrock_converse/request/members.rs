//! The members of an object that have not been read yet.

use crate::{
    Dialect, Refusal,
    ir::{Attachment, Text},
    json::{Member, Raw},
    read::{self, Path},
};
use bytes::Bytes;

const SELF: Dialect = Dialect::BedrockConverse;

/// What is left of an object.
pub(super) struct Members<'v, 'p> {
    left: Vec<Member<'v>>,
    path: &'p Path<'p>,
    owner: &'p Bytes,
}

impl<'v, 'p> Members<'v, 'p> {
    /// All members.
    pub(super) fn of(value: Raw<'v>, path: &'p Path<'p>, owner: &'p Bytes) -> Result<Self, Refusal> {
        Ok(Self { left: path.object(value)?, path, owner })
    }

    /// Takes one out, if it is there.
    pub(super) fn take(&mut self, name: &str) -> Option<Raw<'v>> {
        let at = self.left.iter().position(|member| member.is(name))?;
        Some(self.left.remove(at).value)
    }

    /// Whether one is there.
    pub(super) fn has(&self, name: &str) -> bool {
        self.left.iter().any(|member| member.is(name))
    }

    /// One that must be there.
    pub(super) fn required(&mut self, name: &str) -> Result<Raw<'v>, Refusal> {
        let value = self.take(name);
        self.path.required(value, name)
    }

    /// A string, if it is there.
    pub(super) fn optional_text(&mut self, name: &str) -> Result<Option<Text>, Refusal> {
        let value = self.take(name);
        value.map(|value| self.path.member(name).text(value, self.owner)).transpose()
    }

    /// A string that must be there.
    pub(super) fn text(&mut self, name: &str) -> Result<Text, Refusal> {
        let text = self.optional_text(name)?;
        self.path.required(text, name)
    }

    /// Keeps the rest.
    pub(super) fn rest(self) -> Vec<Attachment> {
        let mut list = Vec::new();
        for member in &self.left {
            read::attach(&mut list, SELF, member, self.owner);
        }
        list
    }

    /// Keeps the rest under the name of the object.
    pub(super) fn rest_inside(self, parent: &str, list: &mut Vec<Attachment>) {
        for member in &self.left {
            read::attach_inner(list, SELF, parent, member, self.owner);
        }
    }
}
