//! What a data thread writes: a call is announced before it is made and settled after it, by copies into memory alone.

use crate::{
    line::{CHARGES_MAX, Intent, Outcome, OutcomeKind},
    map::MapWriter,
    payload::{outcome_bytes_max, read_intent, write_intent, write_outcome},
    record::{self, Kind, Place, record_bytes},
    segment::Segment,
};
use rtrb::Consumer;
use std::{
    cell::{Cell, RefCell},
    fmt,
    rc::Rc,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

/// A segment that has been written for so long is followed by another one, so that it can be dropped some day.
const WRITTEN_MS_MAX: u64 = 24 * 60 * 60 * 1_000;

/// Why a call cannot be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum AnnounceError {
    /// No room is prepared: the disk or the ledger is full, or calls come faster than room is made.
    #[error("the ledger is full")]
    Full,
    /// The disk failed to keep what it was given: nothing more is promised.
    #[error("the disk of the ledger has failed")]
    Failed,
    /// More than [`CHARGES_MAX`].
    #[error("a call has at most {CHARGES_MAX} charges")]
    Charges,
}

/// The journal of one data thread. It stays on the thread that made it.
///
/// Neither announcing nor settling waits, locks, allocates or calls the system (but for a page of the file that is not in
/// memory); at the end of a segment one small allocation is made for the next.
pub struct Journal {
    current: RefCell<Current>,
    scratch: Rc<Cell<Vec<u8>>>,
    failed: Arc<AtomicBool>,
}

struct Current {
    writer: Option<Rc<Writer>>,
    spares: Consumer<Spare>,
}

/// A segment that is ready to be written.
pub(crate) struct Spare {
    pub(crate) segment: Arc<Segment>,
    pub(crate) map: MapWriter,
}

/// Writes one segment, for as long as something may still come: it is the current one, or calls in it are open.
struct Writer {
    segment: Arc<Segment>,
    map: MapWriter,
    /// When the first call in it was announced.
    begun_ms: u64,
    next_number: Cell<u32>,
    /// Bytes that open calls will need for their outcomes.
    reserved: Cell<usize>,
    scratch: Rc<Cell<Vec<u8>>>,
}

/// An announced call. It is settled exactly once: if it is dropped, it is closed as estimated, with the outcome `panicked`.
#[must_use = "a call that is dropped is closed as one that panicked"]
pub struct Entry {
    writer: Option<Rc<Writer>>,
    offset: usize,
    charges: usize,
}

impl Journal {
    pub(crate) fn new(spares: Consumer<Spare>, failed: Arc<AtomicBool>) -> Self {
        let scratch = Vec::with_capacity(record_bytes(record::PAYLOAD_BYTES_MAX));
        Self {
            current: RefCell::new(Current { writer: None, spares }),
            scratch: Rc::new(Cell::new(scratch)),
            failed,
        }
    }

    /// Writes that a call is about to be made, and keeps room for its outcome. From here on a killed process does not
    /// lose it. All readers see it once it is settled.
    ///
    /// # Errors
    ///
    /// The call must not be made then.
    pub fn announce(&self, intent: &Intent<'_>) -> Result<Entry, AnnounceError> {
        if self.failed.load(Ordering::Relaxed) {
            return Err(AnnounceError::Failed);
        }
        if intent.charges.len() > CHARGES_MAX {
            return Err(AnnounceError::Charges);
        }
        let mut current = self.current.borrow_mut();
        if current.writer.as_ref().is_none_or(|writer| writer.is_old(intent.start_ms)) {
            current.turn(&self.scratch, intent.start_ms);
        }
        let written = |writer: &Rc<Writer>| Writer::announce(writer, intent);
        if let Some(entry) = current.writer.as_ref().and_then(written) {
            return Ok(entry);
        }
        // Where there is no other segment this one stays: a shorter line may still fit.
        if !current.turn(&self.scratch, intent.start_ms) {
            return Err(AnnounceError::Full);
        }
        current.writer.as_ref().and_then(written).ok_or(AnnounceError::Full)
    }
}

impl Current {
    /// Goes on with the next segment, if one is ready.
    fn turn(&mut self, scratch: &Rc<Cell<Vec<u8>>>, begun_ms: u64) -> bool {
        let Ok(Spare { segment, map }) = self.spares.pop() else { return false };
        let (next_number, reserved) = (Cell::new(0), Cell::new(0));
        let writer = Writer { segment, map, begun_ms, next_number, reserved, scratch: Rc::clone(scratch) };
        self.writer = Some(Rc::new(writer));
        true
    }
}

impl Writer {
    fn is_old(&self, now_ms: u64) -> bool {
        now_ms.saturating_sub(self.begun_ms) > WRITTEN_MS_MAX
    }

    fn announce(this: &Rc<Self>, intent: &Intent<'_>) -> Option<Entry> {
        let charges = intent.charges.len();
        let outcome = record_bytes(outcome_bytes_max(charges));
        let spoken_for = this.reserved.get() + outcome;
        let offset = this.write(Kind::Intent, spoken_for, |out| write_intent(out, intent))?;
        this.reserved.set(spoken_for);
        Some(Entry { writer: Some(Rc::clone(this)), offset, charges })
    }

    fn settle(&self, offset: usize, charges: usize, outcome: &Outcome<'_>) {
        let left = self.reserved.get().saturating_sub(record_bytes(outcome_bytes_max(charges)));
        let written = self.write(Kind::Outcome, left, |out| write_outcome(out, outcome, offset, charges));
        self.reserved.set(left);
        if written.is_none() {
            tracing::error!("an outcome had no room in the ledger: its call will be closed as killed");
        }
    }

    /// Closes a call of which no more is known.
    fn abandon(&self, offset: usize, charges: usize) {
        let segment = self.map.map().read();
        let intent = record::read(segment, self.segment.header.salt, offset);
        if let Some(intent) = intent.and_then(|record| read_intent(record.payload)) {
            let outcome = intent.as_estimated(OutcomeKind::Panicked, intent.intent.start_ms);
            self.settle(offset, charges, &outcome);
        }
    }

    /// Appends a record if `spare` bytes are left after it.
    fn write(&self, kind: Kind, spare: usize, payload: impl FnOnce(&mut Vec<u8>)) -> Option<usize> {
        let number = self.next_number.get();
        let mut scratch = self.scratch.take();
        let place = Place { salt: self.segment.header.salt, offset: self.map.map().published(), number };
        record::write(&mut scratch, kind, place, payload);
        let fits = scratch.len() + spare <= self.map.room();
        let offset = if fits { self.map.append(&scratch) } else { None };
        self.scratch.set(scratch);
        self.next_number.set(number + u32::from(offset.is_some()));
        offset
    }
}

impl Entry {
    /// Writes how the call ended. There is room for it, so this cannot fail; readers see the line at once.
    pub fn settle(mut self, outcome: &Outcome<'_>) {
        if let Some(writer) = self.writer.take() {
            writer.settle(self.offset, self.charges, outcome);
        }
    }

    fn abandon(&mut self) {
        if let Some(writer) = self.writer.take() {
            writer.abandon(self.offset, self.charges);
        }
    }
}

impl fmt::Debug for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Entry").field("offset", &self.offset).finish_non_exhaustive()
    }
}

impl fmt::Debug for Journal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Journal").finish_non_exhaustive()
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        self.abandon();
    }
}
