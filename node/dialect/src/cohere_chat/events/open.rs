//! The blocks of a streamed answer that are open, and what the wire calls them.

use crate::{
    cohere_chat::request::no_arguments,
    ir::{Delta, Event, Text},
};

/// Most blocks that may be open at once; the vendor opens one.
const OPEN_MAX: usize = 64;

/// What a block is on the wire. Contents and calls are counted apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Key {
    /// A text, at this index of the content.
    Text(u64),
    /// Reasoning, at this index of the content.
    Thinking(u64),
    /// A part of the content that is not modelled.
    Other(u64),
    /// The plan before the calls.
    Plan,
    /// A call; some servers do not count them.
    Call(Option<u64>),
}

impl Key {
    /// Whether it is the part of the content at this index.
    pub(super) fn is_content(self, wire: u64) -> bool {
        matches!(self, Self::Text(own) | Self::Thinking(own) | Self::Other(own) if own == wire)
    }
}

/// An open block.
#[derive(Debug)]
pub(super) struct Open {
    pub(super) key: Key,
    pub(super) index: u32,
    /// The wire has closed it. It stays open until the next one opens, as a citation may follow.
    pub(super) ended: bool,
    /// The arguments of a call so far, as long as they may become `null`.
    held: Option<Text>,
}

/// The open blocks, in the order in which they opened.
#[derive(Debug, Default)]
pub(super) struct Blocks {
    open: Vec<Open>,
    next: u32,
}

impl Blocks {
    /// Makes room for a new block and returns its index: all but calls whose arguments may still come are closed.
    pub(super) fn begin(&mut self, key: Key, out: &mut Vec<Event>) -> Result<u32, String> {
        let stays = |open: &Open| matches!(open.key, Key::Call(Some(_))) && !open.ended && open.key != key;
        self.close(|open| !stays(open), out);
        if self.open.len() >= OPEN_MAX {
            return Err(format!("more than {OPEN_MAX} open blocks"));
        }
        let index = self.next;
        self.next += 1;
        let held = matches!(key, Key::Call(_)).then(Text::default);
        self.open.push(Open { key, index, ended: false, held });
        Ok(index)
    }

    /// Closes all.
    pub(super) fn finish(&mut self, out: &mut Vec<Event>) {
        self.close(|_| true, out);
    }

    /// The last one that was opened and passes a test.
    pub(super) fn find(&self, test: impl Fn(&Open) -> bool) -> Option<&Open> {
        self.open.iter().rev().find(|open| test(open))
    }

    /// The call that an event means: the one of its index, or the last one that is not complete.
    pub(super) fn call(&mut self, wire: Option<u64>) -> Option<&mut Open> {
        let is = |open: &&mut Open| {
            !open.ended
                && matches!(open.key, Key::Call(own) if wire.is_none() || own.is_none() || own == wire)
        };
        self.open.iter_mut().rev().find(is)
    }

    /// The part of the content at this index is complete.
    pub(super) fn end_content(&mut self, wire: u64) {
        if let Some(open) = self.open.iter_mut().rev().find(|open| open.key.is_content(wire)) {
            open.ended = true;
        }
    }

    fn close(&mut self, test: impl Fn(&Open) -> bool, out: &mut Vec<Event>) {
        self.open.retain_mut(|open| {
            let stays = !test(open);
            if !stays {
                open.complete(out);
                out.push(Event::BlockStop { index: open.index });
            }
            stays
        });
    }
}

impl Open {
    /// More of a call's arguments. Where there are none the vendor's models write `null`, which is held back.
    pub(super) fn arguments(&mut self, text: Text, out: &mut Vec<Event>) {
        let text = match self.held.take() {
            Some(held) => {
                let all = Text::join([&held, &text], "");
                if b"null".starts_with(all.escaped()) {
                    self.held = Some(all);
                    return;
                }
                all
            }
            None => text,
        };
        if !text.is_empty() {
            out.push(Event::Delta { index: self.index, delta: Delta::ToolInput(text) });
        }
    }

    /// No more arguments will come: what was held and is not `null` goes on.
    pub(super) fn complete(&mut self, out: &mut Vec<Event>) {
        self.ended = true;
        if let Some(held) = self.held.take().filter(|held| !no_arguments(held)) {
            out.push(Event::Delta { index: self.index, delta: Delta::ToolInput(held) });
        }
    }
}
