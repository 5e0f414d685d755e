//! What is known of a sealed segment without reading it.

use crate::{
    folder::Folder,
    segment::{Header, Name},
};
use std::{fs::OpenOptions, io};

/// A segment that is not written any more.
#[derive(Debug, Clone)]
pub(crate) struct Sealed {
    pub(crate) name: Name,
    /// On the disk, with the summary.
    pub(crate) bytes: u64,
}

pub(crate) fn read(_folder: &Folder, _name: Name) -> Option<Sealed> {
    None
}

/// Cuts the file to what is in it.
pub(crate) fn seal(folder: &Folder, header: &Header, bytes: &[u8]) -> io::Result<Sealed> {
    let file = OpenOptions::new().write(true).open(folder.segment(header.name))?;
    file.set_len(bytes.len() as u64)?;
    file.sync_all()?;
    Ok(Sealed { name: header.name, bytes: bytes.len() as u64 })
}
