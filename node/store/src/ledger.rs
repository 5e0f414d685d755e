//! The ledger of a node: its segments, those that are written and those that are sealed.

use crate::{
    folder::{Folder, OpenError},
    journal::{Journal, Spare},
    map::Upto,
    position::Position,
    query::{self, Cursor, PAGE_BYTES_READ_MAX, Page, Query},
    recover::{self, Recovery},
    replay::{self, Change},
    segment::{HEADER_BYTES, Header, Name, Segment},
    source::Source,
    summary::{self, Sealed},
    sums::{self, Dimension, Sum, SumsError},
};
use rtrb::{Producer, RingBuffer};
use std::{
    collections::BTreeMap,
    fmt, io,
    path::Path,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

const SEGMENT_BYTES_MIN: u64 = 64 * 1024;
const SEGMENT_BYTES_MAX: u64 = 1024 * 1024 * 1024;

/// How large a ledger becomes, and for how long it keeps lines.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// All files together.
    pub bytes_max: u64,
    /// One file; a journal has up to two, and one more for each that calls are still open in.
    pub segment_bytes: u64,
    /// Sealed segments whose last line is older are dropped. `None`: never.
    pub keep: Option<Duration>,
    /// Of this start of the node; it is written into each segment.
    pub incarnation: u64,
}

impl Default for Options {
    fn default() -> Self {
        let mib = 1024 * 1024;
        Self { bytes_max: 16 * 1024 * mib, segment_bytes: 8 * mib, keep: None, incarnation: 0 }
    }
}

/// The ledger. Clones are handles of the same one. All methods but those of [`Journal`] may wait for the disk.
#[derive(Clone)]
pub struct Ledger {
    shared: Arc<Shared>,
}

struct Shared {
    folder: Arc<Folder>,
    options: Options,
    failed: Arc<AtomicBool>,
    shelf: Mutex<Shelf>,
    /// Held while files are made, sealed and dropped: one at a time does that.
    tending: Mutex<()>,
    synced_at: Mutex<Instant>,
}

/// What there is.
struct Shelf {
    /// Written, or ready to be.
    live: Vec<Arc<Segment>>,
    sealed: BTreeMap<Name, Arc<Sealed>>,
    slots: Vec<Slot>,
    next_sequence: u64,
}

/// Where the next segment for a journal is put.
struct Slot {
    thread: u32,
    spares: Producer<Spare>,
}

/// What is not known to be on the disk yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lag {
    /// Bytes of records.
    pub bytes: u64,
    /// Since the last time that everything was; zero if nothing lacks.
    pub time: Duration,
}

/// How full the ledger is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room {
    /// All files together, with what is prepared.
    pub bytes: u64,
    /// What they may come to.
    pub bytes_max: u64,
}

/// What tending to the ledger did.
#[derive(Debug, Default)]
pub struct Tended {
    /// Lines that were dropped because they were too old.
    pub dropped_lines: u64,
    /// Why something that is finished or too old is still there; it is tried again.
    pub refused: Option<io::Error>,
    /// No room could be prepared for a journal: the ledger has its size, or the disk refuses.
    pub short: Option<Short>,
}

/// Why no room could be prepared.
#[derive(Debug, thiserror::Error)]
pub enum Short {
    /// The ledger has the size that it may have.
    #[error("the ledger has its largest size")]
    BytesMax,
    /// The disk refuses.
    #[error("the disk refuses: {0}")]
    Disk(#[from] io::Error),
}

impl Ledger {
    /// Opens the ledger of a folder, or makes it. Calls that were open when the last process ended are closed.
    ///
    /// # Errors
    ///
    /// The folder is used by another process, cannot be read or written, or is of a later version.
    pub fn open(path: &Path, options: Options) -> Result<(Self, Recovery), OpenError> {
        let sizes = SEGMENT_BYTES_MIN..=SEGMENT_BYTES_MAX;
        if !sizes.contains(&options.segment_bytes) || options.bytes_max / 2 < options.segment_bytes {
            return Err(OpenError::Sizes);
        }
        let folder = Arc::new(Folder::open(path)?);
        let (sealed, next_sequence, recovery) = recover::all(&folder)?;
        let shelf = Shelf { live: Vec::new(), sealed, slots: Vec::new(), next_sequence };
        let shared = Shared {
            folder,
            options,
            failed: Arc::default(),
            shelf: Mutex::new(shelf),
            tending: Mutex::default(),
            synced_at: Mutex::new(Instant::now()),
        };
        Ok((Self { shared: Arc::new(shared) }, recovery))
    }

    /// A journal for the thread that calls this. If there is no room for it now, it has some once there is.
    pub fn journal(&self, thread: u32, now_ms: u64) -> Journal {
        let (spares, taken) = RingBuffer::new(1);
        self.shelf().slots.push(Slot { thread, spares });
        // Why there is none is told by the next `tend`.
        let _ = self.tend(now_ms);
        Journal::new(taken, Arc::clone(&self.shared.failed))
    }

    /// Waits until all that was written before is on the disk, and says up to where that is.
    ///
    /// # Errors
    ///
    /// The disk failed. What it has kept is unknown then, and asking again does not tell: no call can be announced any
    /// more, and the process should end.
    pub fn sync(&self) -> io::Result<Position> {
        self.sync_upto(Upto::Now)
    }

    /// The same, but where data threads write much the few lines that share a page with those that come next are left for
    /// the next time: a thread that writes to a page on its way to the disk has to wait. To be called twice a second, so
    /// that a loss of power takes no more than a second.
    ///
    /// # Errors
    ///
    /// As [`Self::sync`].
    pub fn sync_behind(&self) -> io::Result<Position> {
        self.sync_upto(Upto::WholePages)
    }

    fn sync_upto(&self, upto: Upto) -> io::Result<Position> {
        let failed = || io::Error::other("the disk of the ledger has failed before");
        let begun = Instant::now();
        let live = self.shelf().live.clone();
        for segment in &live {
            if self.shared.failed.load(Ordering::Relaxed) {
                return Err(failed());
            }
            segment.sync(upto).inspect_err(|_| self.shared.failed.store(true, Ordering::Relaxed))?;
        }
        *lock(&self.shared.synced_at) = begun;
        let shelf = self.shelf();
        Ok(Position::of(shelf.next_sequence, shelf.live.iter().map(|s| (s.header.name.sequence, s.synced()))))
    }

    /// Prepares room, seals what is finished, drops what is too old. To be called some times a second, as a thread may fill
    /// what was prepared.
    pub fn tend(&self, now_ms: u64) -> Tended {
        let _alone = lock(&self.shared.tending);
        let mut tended = Tended::default();
        let done = self.drop_old(now_ms, &mut tended.dropped_lines).and_then(|()| self.seal_finished());
        tended.refused = done.err();
        tended.short = self.prepare(now_ms).err();
        let live = self.shelf().live.clone();
        live.iter().for_each(|segment| segment.ready());
        tended
    }

    /// What is not known to be on the disk yet.
    pub fn lag(&self) -> Lag {
        let bytes = self.shelf().live.iter().map(|segment| segment.unsynced() as u64).sum();
        let since = *lock(&self.shared.synced_at);
        Lag { bytes, time: if bytes == 0 { Duration::ZERO } else { since.elapsed() } }
    }

    /// How full the ledger is.
    pub fn room(&self) -> Room {
        let bytes_max = self.shared.options.bytes_max;
        Room { bytes: self.shelf().bytes(self.shared.options.segment_bytes), bytes_max }
    }

    /// Up to where lines have been written.
    pub fn position(&self) -> Position {
        let shelf = self.shelf();
        let live = shelf.live.iter().map(|s| (s.header.name.sequence, s.map.published()));
        Position::of(shelf.next_sequence, live)
    }

    /// Tells what happened from one position to another, up to now if the other is later; how many records could not be
    /// read. What is told once is not told again from `to` on: counters that are made of this alone, and are kept together
    /// with `to`, are exact whenever that is, while calls go on. A position that is kept should be one that
    /// [`Self::sync`] gave, so that no loss of power can take back what lies before it.
    ///
    /// # Errors
    ///
    /// A segment cannot be read. What was told until then was told.
    pub fn replay(
        &self,
        from: &Position,
        to: &Position,
        visit: &mut dyn FnMut(Change<'_>),
    ) -> io::Result<u64> {
        let mut skipped = 0;
        for source in self.sources() {
            let sequence = source.name().sequence;
            let Some(begin) = from.before(sequence) else { continue };
            let end = to.before(sequence).unwrap_or(usize::MAX);
            if end <= begin.max(HEADER_BYTES) {
                continue;
            }
            skipped += source
                .with(&self.shared.folder, |bytes, salt| {
                    replay::replay(&bytes[..end.min(bytes.len())], salt, begin.max(HEADER_BYTES), visit)
                })?
                .unwrap_or(0);
        }
        Ok(skipped)
    }

    /// Settled lines, the newest first: `lines_max` of them, at most [`PAGE_LINES_MAX`](crate::PAGE_LINES_MAX).
    ///
    /// # Errors
    ///
    /// A segment cannot be read.
    pub fn query(&self, query: &Query, after: Option<Cursor>, lines_max: usize) -> io::Result<Page> {
        query::page(self.folder(), self.sources(), (query, after), (lines_max, PAGE_BYTES_READ_MAX))
    }

    /// Sums of settled lines, ordered by their groups; one sum if they are grouped by nothing.
    ///
    /// # Errors
    ///
    /// There are more than [`GROUPS_MAX`](crate::GROUPS_MAX) groups, or a segment cannot be read.
    pub fn sums(&self, query: &Query, by: &[Dimension]) -> Result<Vec<Sum>, SumsError> {
        sums::sums(self.folder(), &self.sources(), query, by)
    }

    /// All segments as they are now, the oldest first.
    pub(crate) fn sources(&self) -> Vec<Source> {
        let shelf = self.shelf();
        let sealed = shelf.sealed.values().cloned().map(Source::Sealed);
        let live = shelf.live.iter().cloned().map(Source::Live);
        let mut sources: Vec<_> = sealed.chain(live).collect();
        sources.sort_unstable_by_key(Source::name);
        sources
    }

    pub(crate) fn folder(&self) -> &Folder {
        &self.shared.folder
    }

    fn shelf(&self) -> MutexGuard<'_, Shelf> {
        lock(&self.shared.shelf)
    }

    fn drop_old(&self, now_ms: u64, dropped_lines: &mut u64) -> io::Result<()> {
        let Some(keep) = self.shared.options.keep else { return Ok(()) };
        let since_ms = now_ms.saturating_sub(u64::try_from(keep.as_millis()).unwrap_or(u64::MAX));
        let old = |sealed: &&Arc<Sealed>| sealed.last_ms < since_ms;
        let old: Vec<_> = self.shelf().sealed.values().filter(old).cloned().collect();
        for sealed in old {
            self.shared.folder.remove(sealed.name)?;
            self.shelf().sealed.remove(&sealed.name);
            *dropped_lines += sealed.lines;
        }
        Ok(())
    }

    fn seal_finished(&self) -> io::Result<()> {
        let finished = |segment: &&Arc<Segment>| segment.map.is_finished();
        let finished: Vec<_> = self.shelf().live.iter().filter(finished).cloned().collect();
        for segment in finished {
            segment.sync(Upto::Now).inspect_err(|_| self.shared.failed.store(true, Ordering::Relaxed))?;
            let sealed = match segment.map.published() {
                // It was prepared for a journal that is gone.
                HEADER_BYTES => {
                    self.folder().remove(segment.header.name)?;
                    None
                }
                _ => Some(summary::seal(self.folder(), &segment.header, segment.map.read())?),
            };
            let mut shelf = self.shelf();
            shelf.live.retain(|live| !Arc::ptr_eq(live, &segment));
            shelf.sealed.extend(sealed.map(|sealed| (sealed.name, Arc::new(sealed))));
        }
        Ok(())
    }

    /// A spare segment for each journal that has none.
    fn prepare(&self, now_ms: u64) -> Result<(), Short> {
        let options = &self.shared.options;
        loop {
            let mut shelf = self.shelf();
            shelf.slots.retain(|slot| !slot.spares.is_abandoned());
            let Some(thread) = shelf.slots.iter().find(|slot| !slot.spares.is_full()).map(|slot| slot.thread)
            else {
                return Ok(());
            };
            if shelf.bytes(options.segment_bytes) + options.segment_bytes > options.bytes_max {
                return Err(Short::BytesMax);
            }
            let name = Name { sequence: shelf.next_sequence, thread };
            drop(shelf);
            self.shared.folder.keep_sequence(name.sequence)?;
            let mut salt = [0; 4];
            getrandom::fill(&mut salt).map_err(io::Error::other)?;
            let header = Header {
                name,
                incarnation: options.incarnation,
                created_ms: now_ms,
                salt: u32::from_le_bytes(salt),
            };
            let (segment, map) = Segment::make(&self.shared.folder, header, options.segment_bytes as usize)?;
            let mut shelf = self.shelf();
            // Not before: a position that is taken meanwhile says that this one comes after it.
            shelf.next_sequence += 1;
            shelf.live.push(Arc::clone(&segment));
            if let Some(slot) =
                shelf.slots.iter_mut().find(|slot| slot.thread == thread && !slot.spares.is_full())
            {
                let _ = slot.spares.push(Spare { segment, map });
            }
        }
    }
}

impl fmt::Debug for Ledger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ledger").field("folder", &self.folder().path()).finish_non_exhaustive()
    }
}

impl Shelf {
    fn bytes(&self, segment_bytes: u64) -> u64 {
        let sealed: u64 = self.sealed.values().map(|sealed| sealed.bytes).sum();
        sealed + self.live.len() as u64 * segment_bytes
    }
}

/// No lock is held where something could panic, so a poisoned one is whole.
fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}
