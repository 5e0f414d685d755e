//! The records of a segment, wherever they are: in memory while it is written, in its file once it is sealed.

use crate::{
    folder::Folder,
    segment::{Name, Segment},
    summary::Sealed,
};
use std::{fs, io, sync::Arc};

/// A segment to read from.
#[derive(Clone)]
pub(crate) enum Source {
    Live(Arc<Segment>),
    Sealed(Arc<Sealed>),
}

impl Source {
    pub(crate) fn name(&self) -> Name {
        match self {
            Self::Live(segment) => segment.header.name,
            Self::Sealed(sealed) => sealed.name,
        }
    }

    /// When its first and last lines ended, at the widest.
    pub(crate) fn times(&self) -> (u64, u64) {
        match self {
            Self::Live(_) => (0, u64::MAX),
            Self::Sealed(sealed) => (sealed.first_ms, sealed.last_ms),
        }
    }

    /// Reads from its bytes and its salt. `None` if it has been dropped meanwhile.
    pub(crate) fn with<T>(
        &self,
        folder: &Folder,
        read: impl FnOnce(&[u8], u32) -> T,
    ) -> io::Result<Option<T>> {
        match self {
            Self::Live(segment) => Ok(Some(read(segment.map.read(), segment.header.salt))),
            // Not mapped: a disk that fails is an error here, and not the end of the process.
            Self::Sealed(sealed) => match fs::read(folder.segment(sealed.name)) {
                Ok(bytes) => Ok(Some(read(&bytes, sealed.salt))),
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
                Err(error) => Err(error),
            },
        }
    }
}
