//! A request body, checked once, and the spans of its top-level members.

use crate::{
    hints::{Hints, Word},
    ir::Text,
    json::{Error, ErrorKind, Member, Names, Raw, Scan, shown},
};
use bytes::Bytes;
use std::ops::Range;

/// Top-level members beyond this are refused.
const MEMBERS_MAX: usize = 4096;

/// A checked body (grammar, UTF-8, depth, no duplicate top-level members, nothing behind it), and the spans in it. The
/// default stands for a body that is no JSON: it has no members.
#[derive(Debug, Clone, Default)]
pub struct Envelope {
    body: Bytes,
    /// Where the opening brace is.
    open: usize,
    members: Vec<Span>,
    hints: Hints,
}

/// Where a member is: the inside of its name, and its value.
#[derive(Debug, Clone)]
pub(super) struct Span {
    name: Range<usize>,
    value: Range<usize>,
}

impl Envelope {
    /// Checks the body in one pass. Members beyond 4,096 are refused.
    pub fn parse(body: Bytes) -> Result<Self, Error> {
        let mut scan = Scan::new(&body)?;
        let open = scan.at();
        let mut members = Vec::with_capacity(16);
        let mut names = Names::default();
        let mut more = scan.enter_object()?;
        while more {
            let quote = scan.at();
            let name = scan.name()?;
            if members.len() == MEMBERS_MAX {
                return Err(Error::new(ErrorKind::TooManyMembers, &body, quote));
            }
            if !names.add(&body[name.clone()]) {
                return Err(Error::new(ErrorKind::Duplicate(shown(&body[name])), &body, quote));
            }
            members.push(Span { name, value: scan.value()? });
            more = scan.next_member()?;
        }
        scan.end()?;
        let hints = scan.hints();
        drop(names);
        Ok(Self { body, open, members, hints })
    }

    /// The body as it came.
    pub fn body(&self) -> &Bytes {
        &self.body
    }

    /// A top-level member's value.
    pub fn get(&self, name: &str) -> Option<Raw<'_>> {
        self.members().find(|member| member.is(name)).map(|member| member.value)
    }

    /// A top-level member's string, sharing the body's memory.
    pub fn text(&self, name: &str) -> Option<Text> {
        self.get(name)?.text(&self.body)
    }

    /// False only if a word stands nowhere as a name or value.
    pub fn may_have(&self, word: Word) -> bool {
        self.hints.has(word)
    }

    /// What its strings tell.
    pub(crate) fn hints(&self) -> Hints {
        self.hints
    }

    /// The top-level members in order.
    pub fn members(&self) -> impl Iterator<Item = Member<'_>> {
        self.members.iter().map(|span| span.member(&self.body))
    }

    /// Where the opening brace is.
    pub(super) fn open(&self) -> usize {
        self.open
    }

    /// Where the top-level members are, in order.
    pub(super) fn spans(&self) -> &[Span] {
        &self.members
    }

    /// The index of the member of that name.
    pub(super) fn index(&self, name: &str) -> Option<usize> {
        self.members().position(|member| member.is(name))
    }
}

impl Span {
    fn member<'a>(&self, body: &'a [u8]) -> Member<'a> {
        Member { key: &body[self.name.clone()], value: Raw::from_valid(&body[self.value.clone()]) }
    }

    /// The name with its quotes.
    pub(super) fn name(&self) -> Range<usize> {
        self.name.start - 1..self.name.end + 1
    }

    /// The value.
    pub(super) fn value(&self) -> Range<usize> {
        self.value.clone()
    }

    /// From the name's first quote to the value's end.
    pub(super) fn all(&self) -> Range<usize> {
        self.name.start - 1..self.value.end
    }
}
