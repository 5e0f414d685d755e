//! Which run of a node this is: higher each time, even where the clock went back.

use std::{
    fs::{self, DirBuilder, File},
    io::{self, Read, Write},
    os::unix::fs::DirBuilderExt,
    path::Path,
};

const FILE: &str = "generation";
/// More than a number has.
const FILE_BYTES_MAX: u64 = 64;

/// The number of this run: above the one of the last, and the time where that is higher. On the disk before it is returned.
pub(super) fn next(folder: &Path, unix_nanos: u64) -> io::Result<u64> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let path = folder.join(FILE);
    let generation = kept(&path)?.map_or(0, |kept| kept.saturating_add(1)).max(unix_nanos);
    let partial = folder.join("generation.partial");
    let mut file = File::create(&partial)?;
    writeln!(file, "{generation}")?;
    file.sync_all()?;
    fs::rename(&partial, &path)?;
    File::open(folder)?.sync_all()?;
    Ok(generation)
}

fn kept(path: &Path) -> io::Result<Option<u64>> {
    let mut text = String::new();
    match File::open(path).and_then(|file| file.take(FILE_BYTES_MAX).read_to_string(&mut text)) {
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) if error.kind() == io::ErrorKind::InvalidData => {}
        Err(error) => return Err(error),
    }
    let kept = text.trim().parse().ok();
    if kept.is_none() {
        // The time is higher than what was there, unless the clock went back.
        tracing::warn!(path = %path.display(), "the number of the last run cannot be read: the time is taken instead");
    }
    Ok(kept)
}
