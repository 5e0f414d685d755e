//! Changes to a body by span: what is sent is slices of the client's bytes and the pieces put between them.

use super::{Envelope, body::Span};
use crate::{
    ir::{Json, Text},
    json::{Raw, offset_in},
};
use bytes::Bytes;
use smallvec::SmallVec;
use std::ops::Range;

/// What is sent: slices of the client's body and the pieces put between them.
pub type Pieces = SmallVec<[Bytes; 4]>;

/// Changes to a body, by span. Bytes outside of them are not touched. All are made to the same envelope. Names mean
/// the members as earlier changes have left them: what was renamed is found by its new name.
#[derive(Debug, Clone, Default)]
pub struct Edits {
    /// At most one for each member of the body.
    members: SmallVec<[MemberEdit; 4]>,
    /// In the order of their addition.
    added: SmallVec<[(Text, Json); 2]>,
    /// Spans that do not overlap, and lie in no member that `members` removes or sets.
    replaced: SmallVec<[(Range<usize>, Bytes); 4]>,
}

/// What becomes of one member of the body.
#[derive(Debug, Clone)]
struct MemberEdit {
    index: usize,
    removed: bool,
    name: Option<Text>,
    value: Option<Bytes>,
}

/// Where a name is found.
enum Found {
    Body(usize),
    Added(usize),
}

impl Edits {
    /// Sets a top-level member: replaces its value, or adds it at the end.
    pub fn set(&mut self, envelope: &Envelope, name: &str, value: Json) {
        match self.find(envelope, name) {
            Some(Found::Body(index)) => self.set_value(envelope, index, value.bytes().clone()),
            Some(Found::Added(index)) => self.added[index].1 = value,
            None => self.added.push((Text::new(name), value)),
        }
    }

    /// Removes a top-level member with its comma, if it is there.
    pub fn remove(&mut self, envelope: &Envelope, name: &str) {
        match self.find(envelope, name) {
            Some(Found::Body(index)) => {
                self.forget_replaced(&envelope.spans()[index].value());
                self.edit(index).removed = true;
            }
            Some(Found::Added(index)) => drop(self.added.remove(index)),
            None => {}
        }
    }

    /// Gives a top-level member another name, if it is there. A member that had that name is removed.
    pub fn rename(&mut self, envelope: &Envelope, from: &str, to: &str) {
        if from == to || self.find(envelope, from).is_none() {
            return;
        }
        self.remove(envelope, to);
        match self.find(envelope, from) {
            Some(Found::Body(index)) => self.edit(index).name = Some(Text::new(to)),
            Some(Found::Added(index)) => self.added[index].0 = Text::new(to),
            None => {}
        }
    }

    /// Replaces a value anywhere inside of the body; `at` must be the value of a member of the envelope's body or lie
    /// in one, else nothing is done.
    pub fn replace(&mut self, envelope: &Envelope, at: Raw<'_>, with: Bytes) {
        let Some(start) = offset_in(envelope.body(), at.bytes()) else {
            return;
        };
        let span = start..start + at.bytes().len();
        let spans = envelope.spans();
        let after = spans.partition_point(|member| member.value().start <= span.start);
        let Some(index) = after.checked_sub(1).filter(|&index| span.end <= spans[index].value().end) else {
            return;
        };
        let edited = self.members.iter().find(|edit| edit.index == index);
        if edited.is_some_and(|edit| edit.removed) {
            return;
        }
        if spans[index].value() == span {
            return self.set_value(envelope, index, with);
        }
        if edited.is_none_or(|edit| edit.value.is_none()) {
            self.forget_replaced(&span);
            self.replaced.push((span, with));
        }
    }

    /// Whether nothing changes.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty() && self.added.is_empty() && self.replaced.is_empty()
    }

    /// The body with the changes: slices of the old and the new pieces, nothing copied. Changes may have been made
    /// in any order; of two that overlap the later one counts (a `set` or `remove` of a whole member wins over
    /// what was replaced in it).
    pub fn apply(mut self, envelope: &Envelope) -> Pieces {
        let mut changes = std::mem::take(&mut self.replaced);
        self.members.sort_unstable_by_key(|edit| edit.index);
        let spans = envelope.spans();
        for edit in self.members.iter().filter(|edit| !edit.removed) {
            let span = &spans[edit.index];
            changes.extend(edit.name.as_ref().map(|name| (span.name(), quoted(name, b"", b""))));
            changes.extend(edit.value.clone().map(|value| (span.value(), value)));
        }
        let (mut end, last) = self.remove_runs(spans, &mut changes);
        let mut first = last.is_none();
        // where nothing is left, additions stand behind the brace
        if spans.is_empty() {
            end = envelope.open() + 1;
        }
        for (name, value) in self.added {
            changes.push((end..end, quoted(&name, if first { b"" } else { b"," }, b":")));
            changes.push((end..end, value.bytes().clone()));
            first = false;
        }
        // stable: additions at one place keep their order
        changes.sort_by_key(|(span, _)| span.start);
        splice(envelope.body(), changes)
    }

    /// Cuts out each run of removed members with its commas. Returns where additions go, and the last member that
    /// is left.
    fn remove_runs(
        &self,
        spans: &[Span],
        changes: &mut SmallVec<[(Range<usize>, Bytes); 4]>,
    ) -> (usize, Option<usize>) {
        let mut removed = self.members.iter().filter(|edit| edit.removed).map(|edit| edit.index).peekable();
        let mut last = spans.len().checked_sub(1);
        while let Some(from) = removed.next() {
            let mut to = from;
            while removed.next_if_eq(&(to + 1)).is_some() {
                to += 1;
            }
            let cut = match spans.get(to + 1) {
                Some(next) => spans[from].all().start..next.all().start,
                None => {
                    last = from.checked_sub(1);
                    let start = last.map_or(spans[from].all().start, |last| spans[last].all().end);
                    start..spans[to].all().end
                }
            };
            changes.push((cut, Bytes::new()));
        }
        (spans.last().map_or(0, |span| span.all().end), last)
    }

    fn find(&self, envelope: &Envelope, name: &str) -> Option<Found> {
        let renamed =
            |edit: &&MemberEdit| !edit.removed && edit.name.as_ref().is_some_and(|new| new.is(name));
        if let Some(edit) = self.members.iter().find(renamed) {
            return Some(Found::Body(edit.index));
        }
        let gone = |index| self.members.iter().any(|e| e.index == index && (e.removed || e.name.is_some()));
        if let Some(index) = envelope.index(name).filter(|&index| !gone(index)) {
            return Some(Found::Body(index));
        }
        self.added.iter().position(|(added, _)| added.is(name)).map(Found::Added)
    }

    fn set_value(&mut self, envelope: &Envelope, index: usize, value: Bytes) {
        self.forget_replaced(&envelope.spans()[index].value());
        self.edit(index).value = Some(value);
    }

    fn forget_replaced(&mut self, within: &Range<usize>) {
        self.replaced.retain(|(span, _)| span.end <= within.start || within.end <= span.start);
    }

    fn edit(&mut self, index: usize) -> &mut MemberEdit {
        let at = self.members.iter().position(|edit| edit.index == index).unwrap_or(self.members.len());
        if at == self.members.len() {
            self.members.push(MemberEdit { index, removed: false, name: None, value: None });
        }
        &mut self.members[at]
    }
}

/// A name in quotes with something before and behind it.
fn quoted(name: &Text, before: &[u8], behind: &[u8]) -> Bytes {
    [before, b"\"", name.escaped(), b"\"", behind].concat().into()
}

/// Puts changes, in order, into the body.
fn splice(body: &Bytes, changes: impl IntoIterator<Item = (Range<usize>, Bytes)>) -> Pieces {
    let mut pieces = Pieces::new();
    let mut kept = 0;
    let mut push = |piece: Bytes| {
        if !piece.is_empty() {
            pieces.push(piece);
        }
    };
    for (span, with) in changes {
        push(body.slice(kept..span.start));
        push(with);
        kept = span.end;
    }
    push(body.slice(kept..));
    pieces
}
