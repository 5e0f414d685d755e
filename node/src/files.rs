//! Reading files, and noticing that what was read is no longer what is there.

use sha2::{Digest, Sha256};
use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::{self, Read},
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

/// Largest file with a secret or a certificate.
pub(crate) const SECRET_BYTES_MAX: u64 = 1024 * 1024;

/// Largest document: 100,000 keys are about 15 MB.
pub(crate) const DOCUMENT_BYTES_MAX: u64 = 256 * 1024 * 1024;

/// A file that changed a moment ago may change again without a new time stamp, so its content is compared.
const STAMP_SETTLES: Duration = Duration::from_secs(2);

/// What was read, as hashes; `None` for what could not be read.
#[derive(Debug, Default)]
pub(crate) struct ReadFiles(BTreeMap<PathBuf, Option<[u8; 32]>>);

impl ReadFiles {
    /// The text of a file of at most so many bytes.
    pub(crate) fn text(&mut self, path: &Path, bytes_max: u64) -> io::Result<String> {
        let text = text(path, bytes_max);
        let hash = text.as_ref().ok().map(|text| Sha256::digest(text).into());
        self.0.insert(path.to_owned(), hash);
        text
    }

    /// Which files.
    #[cfg(test)]
    pub(crate) fn paths(&self) -> impl Iterator<Item = &PathBuf> {
        self.0.keys()
    }
}

/// The text of a file of at most so many bytes.
pub(crate) fn text(path: &Path, bytes_max: u64) -> io::Result<String> {
    let mut text = String::new();
    File::open(path)?.take(bytes_max + 1).read_to_string(&mut text)?;
    if text.len() as u64 > bytes_max {
        return Err(io::Error::other(format!("it is larger than {bytes_max} bytes")));
    }
    Ok(text)
}

/// Files that were read, with the stamps that they had when they were last compared.
#[derive(Debug, Default)]
pub(crate) struct Watched {
    read: ReadFiles,
    stamps: BTreeMap<PathBuf, Stamp>,
}

/// What tells without reading that a file is another one. Follows links, so that a swapped link is a change.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Stamp {
    modified: SystemTime,
    len: u64,
    inode: (u64, u64),
}

impl Watched {
    /// Nothing has been compared yet: the first look reads all.
    pub(crate) fn new(read: ReadFiles) -> Self {
        Self { read, stamps: BTreeMap::new() }
    }

    /// Watches more files, as they were read now.
    pub(crate) fn extend(&mut self, read: ReadFiles) {
        for (path, hash) in read.0 {
            self.stamps.remove(&path);
            self.read.0.insert(path, hash);
        }
    }

    /// Whether any file now differs from what was read.
    pub(crate) fn changed(&mut self) -> bool {
        let mut changed = false;
        for (path, hash) in &self.read.0 {
            let stamp = stamp(path);
            if stamp.as_ref().is_some_and(|stamp| !is_fresh(stamp)) && self.stamps.get(path) == stamp.as_ref()
            {
                continue;
            }
            changed |= text(path, SECRET_BYTES_MAX.max(stamp.as_ref().map_or(0, |stamp| stamp.len)))
                .ok()
                .map(|text| Sha256::digest(text).into())
                != *hash;
            if let Some(stamp) = stamp {
                self.stamps.insert(path.clone(), stamp);
            }
        }
        changed
    }
}

fn stamp(path: &Path) -> Option<Stamp> {
    let metadata = fs::metadata(path).ok()?;
    let modified = metadata.modified().ok()?;
    Some(Stamp { modified, len: metadata.len(), inode: (metadata.dev(), metadata.ino()) })
}

fn is_fresh(stamp: &Stamp) -> bool {
    // A time in the future is an error here, and fresh as well.
    SystemTime::now().duration_since(stamp.modified).map_or(true, |age| age < STAMP_SETTLES)
}

#[cfg(test)]
mod tests {
    use super::{ReadFiles, SECRET_BYTES_MAX, Watched};
    use std::{fs, os::unix::fs::symlink, path::Path};

    fn watched(path: &Path) -> Watched {
        let mut read = ReadFiles::default();
        let _ = read.text(path, SECRET_BYTES_MAX);
        Watched::new(read)
    }

    #[test]
    fn changes_are_seen_and_touches_are_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f");
        fs::write(&path, "one").unwrap();
        let mut watched = watched(&path);
        assert!(!watched.changed());
        fs::write(&path, "one").unwrap();
        assert!(!watched.changed(), "the same content");
        fs::write(&path, "two").unwrap();
        assert!(watched.changed(), "same length, and perhaps the same time stamp");
        fs::write(folder.path().join("g"), "six").unwrap();
        fs::rename(folder.path().join("g"), &path).unwrap();
        assert!(watched.changed(), "renamed over");
        fs::remove_file(&path).unwrap();
        assert!(watched.changed(), "gone");
    }

    #[test]
    fn a_file_that_was_missing_appears_and_a_link_is_swapped() {
        let folder = tempfile::tempdir().unwrap();
        let link = folder.path().join("current");
        let mut before = watched(&link);
        assert!(!before.changed());
        for (name, content) in [("a", "one"), ("b", "two")] {
            fs::write(folder.path().join(name), content).unwrap();
        }
        symlink("a", &link).unwrap();
        assert!(before.changed());
        let mut linked = watched(&link);
        assert!(!linked.changed());
        symlink("b", folder.path().join("next")).unwrap();
        fs::rename(folder.path().join("next"), &link).unwrap();
        assert!(linked.changed());
    }

    #[test]
    fn a_large_file_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f");
        fs::write(&path, "12345").unwrap();
        let mut read = ReadFiles::default();
        assert!(read.text(&path, 4).is_err());
        assert_eq!(read.text(&path, 5).unwrap(), "12345");
    }
}
