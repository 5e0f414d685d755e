//! Puts interleaved blocks of a streamed answer one behind the other, for dialects that have one open at a time.
//!
//! The block that opened first is written through, and what comes for later ones waits until it closes; decoders close
//! a block as soon as it is complete, so in all ordinary streams nothing waits. What waits is bounded: at the bound the
//! open block is closed, and what still comes for it is named as dropped.

use crate::{
    dropped,
    ir::{BlockStart, Citation, Delta, Event},
};
use std::collections::VecDeque;

/// Most bytes of events that wait for an earlier block.
const WAITING_BYTES_MAX: usize = 1 << 20;

/// What an event that waits costs besides its text, about.
const EVENT_BYTES: usize = 64;

/// What is to be written next.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Step<'e> {
    /// A block opens; none is open.
    Open(&'e BlockStart),
    /// More of the open block.
    Delta(&'e Delta),
    /// The open block closes.
    Close,
}

/// Whose turn it is.
#[derive(Debug, Default)]
pub(crate) struct Turns {
    open: Option<u32>,
    waiting: VecDeque<Waiting>,
    waiting_bytes: usize,
}

/// A block that waits for its turn.
#[derive(Debug)]
struct Waiting {
    index: u32,
    block: BlockStart,
    deltas: Vec<Delta>,
    complete: bool,
}

impl Turns {
    /// Takes an event of a block; others are ignored. `write` gets the steps that can be taken now.
    pub(crate) fn take(
        &mut self,
        event: &Event,
        dropped: &mut Vec<String>,
        write: &mut dyn FnMut(Step<'_>, &mut Vec<String>),
    ) {
        match event {
            Event::BlockStart { index, block } => {
                let known = self.open == Some(*index) || self.waiting.iter().any(|w| w.index == *index);
                if self.open.is_none() {
                    self.open = Some(*index);
                    write(Step::Open(block), dropped);
                } else if !known {
                    let (block, deltas) = (block.clone(), Vec::new());
                    self.waiting.push_back(Waiting { index: *index, block, deltas, complete: false });
                    self.wait(EVENT_BYTES, dropped, write);
                }
            }
            Event::Delta { index, delta } if self.open == Some(*index) => write(Step::Delta(delta), dropped),
            Event::Delta { index, delta } => {
                match self.waiting.iter_mut().find(|waiting| waiting.index == *index && !waiting.complete) {
                    Some(waiting) => {
                        waiting.deltas.push(delta.clone());
                        self.wait(EVENT_BYTES + size(delta), dropped, write);
                    }
                    // Of a block that is closed, or never opened.
                    None => dropped::note(dropped, "content[]"),
                }
            }
            Event::BlockStop { index } if self.open == Some(*index) => self.close(dropped, write),
            Event::BlockStop { index } => {
                if let Some(waiting) = self.waiting.iter_mut().find(|waiting| waiting.index == *index) {
                    waiting.complete = true;
                }
            }
            _ => {}
        }
    }

    /// Writes all that waits, and closes what is open.
    pub(crate) fn finish(
        &mut self,
        dropped: &mut Vec<String>,
        write: &mut dyn FnMut(Step<'_>, &mut Vec<String>),
    ) {
        // Each round closes a block, and none is added.
        while self.open.is_some() {
            self.close(dropped, write);
        }
    }

    /// Counts what waits; at the bound the open block is closed.
    fn wait(
        &mut self,
        bytes: usize,
        dropped: &mut Vec<String>,
        write: &mut dyn FnMut(Step<'_>, &mut Vec<String>),
    ) {
        self.waiting_bytes = self.waiting_bytes.saturating_add(bytes);
        if self.waiting_bytes > WAITING_BYTES_MAX {
            dropped::note(dropped, "content[]");
            self.close(dropped, write);
        }
    }

    /// Closes the open block and writes what has waited, until a block stays open.
    fn close(&mut self, dropped: &mut Vec<String>, write: &mut dyn FnMut(Step<'_>, &mut Vec<String>)) {
        if self.open.take().is_some() {
            write(Step::Close, dropped);
        }
        while let Some(waiting) = self.waiting.pop_front() {
            self.waiting_bytes = self.waiting_bytes.saturating_sub(EVENT_BYTES);
            write(Step::Open(&waiting.block), dropped);
            for delta in &waiting.deltas {
                self.waiting_bytes = self.waiting_bytes.saturating_sub(EVENT_BYTES + size(delta));
                write(Step::Delta(delta), dropped);
            }
            if !waiting.complete {
                self.open = Some(waiting.index);
                break;
            }
            write(Step::Close, dropped);
        }
    }
}

fn size(delta: &Delta) -> usize {
    match delta {
        Delta::Text(text) | Delta::Thinking(text) | Delta::ToolInput(text) => text.escaped().len(),
        Delta::Signature(sealed) => sealed.data.escaped().len(),
        Delta::Citation(Citation { json, .. }) | Delta::Opaque { json, .. } => json.bytes().len(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::Text;

    fn steps(events: &[Event]) -> (Vec<String>, Vec<String>) {
        let (mut turns, mut steps, mut dropped) = (Turns::default(), Vec::new(), Vec::new());
        let mut write = |step: Step<'_>, _: &mut Vec<String>| {
            steps.push(match step {
                Step::Open(BlockStart::ToolUse { id, .. }) => format!("open {}", id.plain()),
                Step::Delta(Delta::ToolInput(text)) => text.plain().chars().take(3).collect(),
                Step::Close => "close".to_owned(),
                other => format!("{other:?}"),
            });
        };
        events.iter().for_each(|event| turns.take(event, &mut dropped, &mut write));
        turns.finish(&mut dropped, &mut write);
        (steps, dropped)
    }

    fn open(index: u32) -> Event {
        let id = Text::new(&index.to_string());
        Event::BlockStart { index, block: BlockStart::ToolUse { id, name: Text::default() } }
    }

    fn more(index: u32, text: &str) -> Event {
        Event::Delta { index, delta: Delta::ToolInput(Text::new(text)) }
    }

    #[test]
    fn later_blocks_wait_for_earlier_ones() {
        let close = |index| Event::BlockStop { index };
        let events = [
            open(0),
            more(0, "a"),
            open(1),
            open(2),
            more(2, "c"),
            more(1, "b"),
            close(1),
            more(0, "A"),
            close(0),
        ];
        let expected = ["open 0", "a", "A", "close", "open 1", "b", "close", "open 2", "c", "close"];
        assert_eq!(steps(&events), (expected.map(str::to_owned).to_vec(), Vec::new()));
        let closed = [open(0), close(0), more(0, "late"), open(1)];
        assert_eq!(steps(&closed).1, ["content[]"]);
    }

    #[test]
    fn what_waits_is_bounded() {
        let large = "x".repeat(WAITING_BYTES_MAX);
        let (steps, dropped) = steps(&[open(0), open(1), more(1, &large), more(0, "late"), more(1, "go")]);
        assert_eq!(steps, ["open 0", "close", "open 1", "xxx", "go", "close"]);
        assert_eq!(dropped, ["content[]"]);
    }
}
