//! Gossip as nodes see it, and each part of it by itself.

mod gossip;
mod members;
mod network;
mod sealed;

use super::generation;
use tempfile::TempDir;

#[test]
fn each_run_has_a_higher_number() -> anyhow::Result<()> {
    let folder = TempDir::new()?;
    let path = folder.path().join("node");
    // The time, and the number of the run.
    for (unix_nanos, generation) in [(1000, 1000), (2000, 2000), (1500, 2001), (0, 2002), (3000, 3000)] {
        assert_eq!(generation::next(&path, unix_nanos)?, generation);
    }
    std::fs::write(path.join("generation"), "not a number")?;
    assert_eq!(generation::next(&path, 5000)?, 5000);
    std::fs::write(path.join("generation"), [0xff])?;
    assert_eq!(generation::next(&path, 6000)?, 6000);
    assert_eq!(generation::next(&path, 0)?, 6001);
    Ok(())
}

#[test]
fn a_folder_that_cannot_be_written_to_is_an_error() -> anyhow::Result<()> {
    let folder = TempDir::new()?;
    let path = folder.path().join("file");
    std::fs::write(&path, "")?;
    assert!(generation::next(&path, 1).is_err());
    Ok(())
}
