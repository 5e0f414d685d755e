//! Files of credentials: read within bounds, and noticed when they change.

use super::fetch::FetchError;
use std::{
    fs::{self, File},
    io::{ErrorKind, Read},
    path::Path,
    time::SystemTime,
};

/// Largest file with a token or key.
const BYTES_MAX: u64 = 1024 * 1024;

/// The text of a file without white space around it.
pub(super) fn read(path: &Path) -> Result<String, FetchError> {
    let mut text = String::new();
    let read = File::open(path).and_then(|file| file.take(BYTES_MAX + 1).read_to_string(&mut text));
    match read {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            Err(FetchError::Absent(format!("there is no file {}", path.display())))
        }
        Err(error) => Err(FetchError::failed(format!("the file {} cannot be read: {error}", path.display()))),
        Ok(length) if length as u64 > BYTES_MAX => {
            Err(FetchError::failed(format!("the file {} is larger than {BYTES_MAX} bytes", path.display())))
        }
        Ok(_) if text.trim().is_empty() => {
            Err(FetchError::failed(format!("the file {} is empty", path.display())))
        }
        Ok(_) => Ok(text.trim().to_owned()),
    }
}

/// What tells without reading that files are other ones; follows links, as those of mounted secrets are swapped.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Stamps(Vec<Option<(SystemTime, u64, Inode)>>);

#[cfg(unix)]
type Inode = u64;
#[cfg(not(unix))]
type Inode = ();

impl Stamps {
    pub(super) fn of(paths: &[&Path]) -> Self {
        let stamp = |path: &&Path| {
            let metadata = fs::metadata(path).ok()?;
            Some((metadata.modified().ok()?, metadata.len(), inode(&metadata)))
        };
        Self(paths.iter().map(stamp).collect())
    }
}

#[cfg(unix)]
fn inode(metadata: &fs::Metadata) -> Inode {
    std::os::unix::fs::MetadataExt::ino(metadata)
}

#[cfg(not(unix))]
fn inode(_: &fs::Metadata) -> Inode {}
