//! Which block a piece of an item belongs to, while a stream is read.

/// Most items in one answer, and most blocks that are open at once.
const ITEMS_MAX: usize = 1024;

/// Where a block lies in its item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// A content part of a message.
    Part(u64),
    /// The arguments of a call.
    Call,
    /// Reasoning, all of its parts.
    Thought,
}

/// A block that is open.
#[derive(Debug)]
pub(super) struct Open {
    /// The vendor's index of the item.
    pub(super) output: u64,
    pub(super) place: Place,
    /// Ours, of the block.
    pub(super) index: u32,
    /// Something of it has been told.
    pub(super) said: bool,
    /// The part of reasoning that was told last: its kind and number.
    pub(super) part: Option<(char, u64)>,
}

/// An item that has been told something of.
#[derive(Debug)]
pub(super) struct Seen {
    output: u64,
    /// One more than the last content part that opened.
    parts: u64,
}

/// The items of one answer so far.
#[derive(Debug, Default)]
pub(super) struct Items {
    next: u32,
    open: Vec<Open>,
    seen: Vec<Seen>,
}

impl Items {
    /// Whether nothing has been told yet.
    pub(super) fn is_empty(&self) -> bool {
        self.seen.is_empty()
    }

    /// How many content parts of an item have opened; `None` where nothing of the item has been told.
    pub(super) fn told(&self, output: u64) -> Option<u64> {
        self.seen.iter().rev().find(|seen| seen.output == output).map(|seen| seen.parts)
    }

    /// The open block of a place.
    pub(super) fn find(&mut self, output: u64, place: Place) -> Option<&mut Open> {
        self.open.iter_mut().find(|open| open.output == output && open.place == place)
    }

    /// Opens a block and returns its index.
    pub(super) fn open(&mut self, output: u64, place: Place) -> Result<u32, String> {
        if self.open.len() >= ITEMS_MAX || self.seen.len() >= ITEMS_MAX {
            return Err(format!("more than {ITEMS_MAX} items"));
        }
        let parts = if let Place::Part(part) = place { part.saturating_add(1) } else { 0 };
        match self.seen.iter_mut().rev().find(|seen| seen.output == output) {
            Some(seen) => seen.parts = seen.parts.max(parts),
            None => self.seen.push(Seen { output, parts }),
        }
        let index = self.next;
        self.next += 1;
        self.open.push(Open { output, place, index, said: false, part: None });
        Ok(index)
    }

    /// Takes out an open block of an item: this place, or the first one that is open.
    pub(super) fn close(&mut self, output: u64, place: Option<Place>) -> Option<Open> {
        let fits = |open: &Open| open.output == output && place.is_none_or(|place| place == open.place);
        let at = self.open.iter().position(fits)?;
        Some(self.open.remove(at))
    }

    /// Takes out all that is open.
    pub(super) fn close_all(&mut self) -> impl Iterator<Item = Open> {
        self.open.drain(..)
    }
}
