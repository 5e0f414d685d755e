//! A file in memory that one writer appends to while others read what it has published. All `unsafe` of the crate is here.
#![allow(unsafe_code)] // memory that is shared with a file is only reachable so

use memmap2::{Advice, MmapOptions, MmapRaw, UncheckedAdvice};
use std::{
    cell::Cell,
    fs::File,
    io,
    marker::PhantomData,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};

/// What the system maps and writes as one; where its pages are larger, a little more is touched than need be.
const PAGE: usize = 4096;
/// So much is got ready at once.
const READY_AT_ONCE: usize = 1024 * 1024;

/// How much of what has been published is put on the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Upto {
    /// All.
    Now,
    /// What was appended whole before the page that is being written, if there is something: a writer has to wait for a page
    /// that is on its way to the disk.
    WholePages,
}

/// The file as readers see it: what has been published never changes again.
///
/// The file must not become shorter than what is published while this lives: pages behind its end cannot be read.
pub(crate) struct Map {
    memory: MmapRaw,
    published: AtomicUsize,
    /// Where the last of the appended that reached into another page begins: all before it is whole, and lies in pages that
    /// are not written any more.
    settled: AtomicUsize,
    finished: AtomicBool,
}

/// The only one that writes to a [`Map`].
pub(crate) struct MapWriter {
    map: Arc<Map>,
    /// It stays on one thread at a time.
    _alone: PhantomData<Cell<()>>,
}

/// Maps a file of that length, of which the beginning is published.
pub(crate) fn map(file: &File, bytes: usize, published: usize) -> io::Result<MapWriter> {
    if published > bytes || file.metadata()?.len() < bytes as u64 {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "the file is shorter than its map"));
    }
    let memory = MmapOptions::new().len(bytes).map_raw(file)?;
    let map = Arc::new(Map {
        memory,
        published: AtomicUsize::new(published),
        settled: AtomicUsize::new(published),
        finished: AtomicBool::new(false),
    });
    Ok(MapWriter { map, _alone: PhantomData })
}

impl Map {
    /// What has been published so far.
    pub(crate) fn read(&self) -> &[u8] {
        let published = self.published.load(Ordering::Acquire);
        // SAFETY: the map is at least `published` bytes long and lives as long as `self`. Writes go behind `published`
        // alone, and those before it happened before the load that saw it.
        unsafe { std::slice::from_raw_parts(self.memory.as_ptr(), published) }
    }

    /// How much has been published so far.
    pub(crate) fn published(&self) -> usize {
        self.published.load(Ordering::Acquire)
    }

    /// Nothing more will be published: the writer is gone.
    pub(crate) fn is_finished(&self) -> bool {
        self.finished.load(Ordering::Acquire)
    }

    /// Waits until what has been published is on the disk; `from` is what is known to be there.
    pub(crate) fn sync(&self, from: usize, upto: Upto) -> io::Result<usize> {
        let settled = self.settled.load(Ordering::Acquire);
        let is_behind = upto == Upto::WholePages && settled > from && !self.is_finished();
        let until = if is_behind { settled } else { self.published() };
        if until > from {
            self.memory.flush_range(from, until - from)?;
            self.let_go(until - until % PAGE);
        }
        Ok(until)
    }

    /// Counts pages that are on the disk as the process's memory no longer; who reads them gets them back.
    fn let_go(&self, until: usize) {
        // SAFETY: the map is shared with a file, so that its bytes are those of the file's pages, whether they are mapped
        // at the moment or not: nothing that can be read changes.
        let _ = unsafe { self.memory.unchecked_advise_range(UncheckedAdvice::DontNeed, 0, until) };
    }

    /// Gets the pages of the next so many bytes ready to be written, so that the writer need not wait for the system. Where
    /// that cannot be done it does.
    pub(crate) fn ready(&self, bytes: usize) {
        let published = self.published();
        let until = (published + bytes).min(self.memory.len());
        for from in (published - published % PAGE..until).step_by(READY_AT_ONCE) {
            let count = READY_AT_ONCE.min(until - from);
            let _ = self.memory.advise_range(Advice::PopulateWrite, from, count);
            // A thread that serves may wait for the same processor.
            std::thread::yield_now();
        }
    }
}

impl MapWriter {
    pub(crate) fn map(&self) -> &Arc<Map> {
        &self.map
    }

    /// Bytes that can still be appended.
    pub(crate) fn room(&self) -> usize {
        self.map.memory.len() - self.map.published.load(Ordering::Relaxed)
    }

    /// Appends and publishes bytes, all of them or, where there is no room, none. Where they begin.
    pub(crate) fn append(&self, bytes: &[u8]) -> Option<usize> {
        let at = self.map.published.load(Ordering::Relaxed);
        if bytes.len() > self.map.memory.len() - at {
            return None;
        }
        // SAFETY: `at + bytes.len()` lies within the map, and nobody else touches what is behind `published`: readers
        // stop there, and this is the only writer, on one thread.
        unsafe {
            let to = self.map.memory.as_mut_ptr().add(at);
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len());
        }
        let end = at + bytes.len();
        if at / PAGE != end / PAGE {
            self.map.settled.store(at, Ordering::Release);
        }
        self.map.published.store(end, Ordering::Release);
        Some(at)
    }
}

impl Drop for MapWriter {
    fn drop(&mut self) {
        self.map.finished.store(true, Ordering::Release);
    }
}
