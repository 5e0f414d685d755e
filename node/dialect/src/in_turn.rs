//! Puts the blocks of a streamed answer one behind the other, for wires on which one is open at a time.
//!
//! Where blocks come interleaved (parallel tool calls of some providers), the one that opened first goes through, and
//! events of later ones wait until it closes; decoders close a block as soon as it is complete, so in all ordinary
//! streams nothing waits. What waits is bounded: at the bound the open block is closed, and what still comes for it is
//! lost.

use crate::ir::{BlockStart, Citation, Delta, Event};
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
    /// More of the block that is open.
    Delta(&'e Delta),
    /// It closes.
    Close,
    /// Something came for a block that is closed, or never opened.
    Lost,
}

/// The order of the blocks.
#[derive(Debug, Default)]
pub(crate) struct InTurn {
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

impl InTurn {
    /// Takes an event of a block; others are none of its business.
    pub(crate) fn take(&mut self, event: &Event, go: &mut dyn FnMut(Step<'_>)) {
        match event {
            Event::BlockStart { index, block } => self.block_start(*index, block, go),
            Event::Delta { index, delta } => self.delta(*index, delta, go),
            Event::BlockStop { index } => self.block_stop(*index, go),
            _ => {}
        }
    }

    /// A block opens.
    pub(crate) fn block_start(&mut self, index: u32, block: &BlockStart, go: &mut dyn FnMut(Step<'_>)) {
        let known = self.open == Some(index) || self.waiting.iter().any(|waiting| waiting.index == index);
        if self.open.is_none() {
            self.open = Some(index);
            go(Step::Open(block));
        } else if !known {
            self.waiting_bytes = self.waiting_bytes.saturating_add(EVENT_BYTES);
            self.waiting.push_back(Waiting {
                index,
                block: block.clone(),
                deltas: Vec::new(),
                complete: false,
            });
            self.bound(go);
        }
    }

    /// More of a block.
    pub(crate) fn delta(&mut self, index: u32, delta: &Delta, go: &mut dyn FnMut(Step<'_>)) {
        if self.open == Some(index) {
            return go(Step::Delta(delta));
        }
        match self.waiting.iter_mut().find(|waiting| waiting.index == index && !waiting.complete) {
            Some(waiting) => {
                waiting.deltas.push(delta.clone());
                self.waiting_bytes = self.waiting_bytes.saturating_add(size(delta));
                self.bound(go);
            }
            None => go(Step::Lost),
        }
    }

    /// A block closes.
    pub(crate) fn block_stop(&mut self, index: u32, go: &mut dyn FnMut(Step<'_>)) {
        if self.open == Some(index) {
            self.close(go);
        } else if let Some(waiting) = self.waiting.iter_mut().find(|waiting| waiting.index == index) {
            waiting.complete = true;
        }
    }

    /// Closes all blocks, each in its turn.
    pub(crate) fn finish(&mut self, go: &mut dyn FnMut(Step<'_>)) {
        // Each round closes one.
        while self.open.is_some() {
            self.close(go);
        }
    }

    /// Closes the open block where too much waits for it.
    fn bound(&mut self, go: &mut dyn FnMut(Step<'_>)) {
        if self.waiting_bytes > WAITING_BYTES_MAX {
            go(Step::Lost);
            self.close(go);
        }
    }

    /// Closes the open block and goes on with what has waited, until a block stays open.
    fn close(&mut self, go: &mut dyn FnMut(Step<'_>)) {
        if self.open.take().is_some() {
            go(Step::Close);
        }
        while let Some(Waiting { index, block, deltas, complete }) = self.waiting.pop_front() {
            let bytes = deltas.iter().map(size).fold(EVENT_BYTES, usize::saturating_add);
            self.waiting_bytes = self.waiting_bytes.saturating_sub(bytes);
            go(Step::Open(&block));
            deltas.iter().for_each(|delta| go(Step::Delta(delta)));
            if !complete {
                self.open = Some(index);
                return;
            }
            go(Step::Close);
        }
    }
}

fn size(delta: &Delta) -> usize {
    let text = match delta {
        Delta::Text(text) | Delta::Thinking(text) | Delta::ToolInput(text) => text.escaped().len(),
        Delta::Signature(sealed) => sealed.data.escaped().len(),
        Delta::Citation(Citation { json, .. }) | Delta::Opaque { json, .. } => json.bytes().len(),
    };
    EVENT_BYTES.saturating_add(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::Text;

    fn shown(step: Step<'_>, out: &mut String) {
        match step {
            Step::Open(_) => out.push('('),
            Step::Delta(Delta::Text(text)) => out.push_str(&text.plain().chars().take(4).collect::<String>()),
            Step::Delta(_) => out.push('?'),
            Step::Close => out.push(')'),
            Step::Lost => out.push('!'),
        }
    }

    #[test]
    fn interleaved_blocks_wait_for_their_turn() {
        let (mut order, mut out) = (InTurn::default(), String::new());
        let mut go = |step: Step<'_>| shown(step, &mut out);
        let text = |text: &str| Delta::Text(Text::new(text));
        order.block_start(0, &BlockStart::Text, &mut go);
        order.block_start(1, &BlockStart::Text, &mut go);
        order.delta(1, &text("b"), &mut go);
        order.block_start(2, &BlockStart::Text, &mut go);
        order.delta(0, &text("a"), &mut go);
        order.block_stop(1, &mut go);
        order.delta(1, &text("x"), &mut go);
        order.delta(2, &text("c"), &mut go);
        order.block_stop(0, &mut go);
        order.delta(2, &text("d"), &mut go);
        order.delta(0, &text("x"), &mut go);
        order.finish(&mut go);
        assert_eq!(out, "(a!)(b)(cd!)");
        assert_eq!(order.waiting_bytes, 0);
    }

    #[test]
    fn what_waits_is_bounded() {
        let (mut order, mut out) = (InTurn::default(), String::new());
        let mut go = |step: Step<'_>| shown(step, &mut out);
        order.block_start(0, &BlockStart::Text, &mut go);
        order.block_start(1, &BlockStart::Text, &mut go);
        order.delta(1, &Delta::Text(Text::new(&"much".repeat(WAITING_BYTES_MAX / 4))), &mut go);
        order.delta(0, &Delta::Text(Text::new("late")), &mut go);
        order.finish(&mut go);
        assert_eq!(out, "(!)(much!)");
    }
}
