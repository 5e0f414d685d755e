//! The folder of the ledger: locked by one process, readable by its owner alone, written so that a loss of power leaves whole files.

use crate::segment::Name;
use std::{
    fs::{self, DirBuilder, File, OpenOptions, TryLockError},
    io::{self, Read, Seek, SeekFrom, Write},
    os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

/// Ends the name of a file that is not finished.
const UNFINISHED: &str = "new";
/// Ends the name of a segment of which nothing can be read.
const DAMAGED: &str = "damaged";

const SEQUENCE_DIGITS: usize = 20;

/// Why a ledger cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Another process has it.
    #[error("{0} is used by another process: stop that one, or give this one a folder of its own")]
    InUse(PathBuf),
    /// The file system refuses.
    #[error(
        "{0} cannot be used: {1}; it must be a folder on a disk with free space that this process may write to"
    )]
    Refused(PathBuf, #[source] io::Error),
    /// A later version wrote it.
    #[error("{0} was written by a later version: start that version, or use another folder")]
    Later(PathBuf),
    /// Sizes that cannot be.
    #[error("a segment has from 64 KiB to 1 GiB, and the ledger room for at least two")]
    Sizes,
}

/// A folder that this process has for itself, until the last of what was opened in it is gone.
pub(crate) struct Folder {
    path: PathBuf,
    /// Holds the highest number that a segment was ever given, so that none is given twice.
    lock: File,
}

impl Folder {
    pub(crate) fn open(path: &Path) -> Result<Self, OpenError> {
        let refused = |error| OpenError::Refused(path.to_owned(), error);
        DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(refused)?;
        let mut options = OpenOptions::new();
        let lock = options.create(true).truncate(false).write(true).mode(0o600);
        let lock = lock.read(true).open(path.join("lock")).map_err(refused)?;
        match lock.try_lock() {
            Ok(()) => {
                let above = path.parent().filter(|above| !above.as_os_str().is_empty());
                File::open(above.unwrap_or(Path::new(".")))
                    .and_then(|above| above.sync_all())
                    .map_err(refused)?;
                Ok(Self { path: path.to_owned(), lock })
            }
            Err(TryLockError::WouldBlock) => Err(OpenError::InUse(path.to_owned())),
            Err(TryLockError::Error(error)) => Err(refused(error)),
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn segment(&self, name: Name) -> PathBuf {
        self.path.join(name.segment())
    }

    pub(crate) fn summary(&self, name: Name) -> PathBuf {
        self.path.join(name.summary())
    }

    /// Segments, the oldest first. What was never finished is removed.
    pub(crate) fn names(&self) -> io::Result<Vec<Name>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(&self.path)? {
            let path = entry?.path();
            if path.extension().is_some_and(|end| end == UNFINISHED) {
                fs::remove_file(&path)?;
            }
            names.extend(path.file_name().and_then(|name| name.to_str()).and_then(Name::of_segment));
        }
        names.sort_unstable();
        Ok(names)
    }

    /// The highest number that a segment was ever given, as far as known.
    pub(crate) fn sequence(&self) -> io::Result<u64> {
        let mut text = String::new();
        (&self.lock).seek(SeekFrom::Start(0))?;
        // What cannot be read is no number; the segments that are there tell enough then.
        let _ = (&self.lock).take(SEQUENCE_DIGITS as u64).read_to_string(&mut text);
        Ok(text.parse().unwrap_or(0))
    }

    /// Remembers a number before it is used.
    pub(crate) fn keep_sequence(&self, sequence: u64) -> io::Result<()> {
        self.lock.write_all_at(format!("{sequence:0SEQUENCE_DIGITS$}\n").as_bytes(), 0)?;
        self.lock.sync_data()
    }

    /// Makes a file that is there whole or not at all; what `fill` leaves it with.
    pub(crate) fn make<T>(
        &self,
        path: &Path,
        fill: impl FnOnce(&mut File) -> io::Result<T>,
    ) -> io::Result<(File, T)> {
        let mut beside = path.as_os_str().to_owned();
        beside.push(".");
        beside.push(UNFINISHED);
        let attempt = || {
            let mut options = OpenOptions::new();
            let mut file =
                options.read(true).write(true).create(true).truncate(true).mode(0o600).open(&beside)?;
            let filled = fill(&mut file)?;
            file.sync_all()?;
            fs::rename(&beside, path)?;
            self.sync()?;
            Ok((file, filled))
        };
        // A disk that is full must not stay so for what is of no use.
        attempt().inspect_err(|_| drop(fs::remove_file(&beside)))
    }

    /// A small file, whole.
    pub(crate) fn write(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        self.make(path, |file| file.write_all(bytes)).map(drop)
    }

    /// Waits until names that came and went are on the disk.
    pub(crate) fn sync(&self) -> io::Result<()> {
        File::open(&self.path)?.sync_all()
    }

    /// Puts away a segment of which nothing can be read; where it is now.
    pub(crate) fn set_aside(&self, name: Name) -> io::Result<PathBuf> {
        let from = self.segment(name);
        let to = from.with_extension(DAMAGED);
        fs::rename(&from, &to)?;
        self.sync()?;
        Ok(to)
    }

    /// Removes a segment and its summary, that first: it is of no use alone.
    pub(crate) fn remove(&self, name: Name) -> io::Result<()> {
        for path in [self.summary(name), self.segment(name)] {
            match fs::remove_file(path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        self.sync()
    }
}
