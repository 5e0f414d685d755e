//! A disk that is full (Linux, by `full.c`): no further call can be announced, open ones are settled, questions are answered,
//! a start goes through; and once there is room calls can be made again.

use anyhow::{Context as _, bail, ensure};
use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};
use trestle_store::{
    AnnounceError, Dimension, Entry, Intent, Journal, Ledger, Options, Outcome, Query, Recovery, Short,
};

fn main() -> anyhow::Result<()> {
    match (env::var_os("FULL_IN").map(PathBuf::from), env::var_os("FULL_WHILE").map(PathBuf::from)) {
        (Some(folder), Some(marker)) => child(&folder, &marker),
        _ => parent(),
    }
}

fn parent() -> anyhow::Result<()> {
    let library = library()?;
    let place = tempfile::tempdir()?;
    let (marker, folder) = (place.path().join("marker"), place.path().join("disk"));
    fs::create_dir(&folder)?;
    let mut child = Command::new(env::current_exe()?);
    child.env("LD_PRELOAD", library).env("FULL_WHILE", &marker).env("FULL_IN", &folder);
    let ended = child.output()?;
    let error = String::from_utf8_lossy(&ended.stderr);
    ensure!(ended.status.success(), "{}: {error}", ended.status);
    println!("a disk that is full: nothing lost");
    Ok(())
}

fn child(disk: &Path, marker: &Path) -> anyhow::Result<()> {
    let (folder, copy) = (&disk.join("ledger"), &disk.join("copy"));
    let (ledger, _) = open(folder)?;
    let journal = ledger.journal(0, 0);
    let mut settled = settle(until_full(&ledger, &journal, 5_000)?);
    fs::write(marker, "")?;
    // What is prepared is used up, then there is nothing.
    let entries = until_full(&ledger, &journal, u64::MAX)?;
    ensure!(!entries.is_empty(), "the disk was full before it was said to be");
    ensure!(matches!(ledger.tend(0).short, Some(Short::Disk(_))), "the reason is not told");
    ensure!(
        fs::read_dir(folder)?.all(|file| file.is_ok_and(|file| !is_unfinished(&file.path()))),
        "left over"
    );
    settled += settle(entries);
    ensure!(count(&ledger)? == settled, "a line is missing");
    ledger.sync()?;
    // One stays open, and the process ends: the next one starts on a disk that is still full. The room for the outcome was
    // kept.
    fs::remove_file(marker)?;
    let tended = ledger.tend(0);
    ensure!(tended.short.is_none(), "there is room: {tended:?}");
    let entry = journal.announce(&Intent::default())?;
    fs::write(marker, "")?;
    killed(folder, copy)?;
    entry.settle(&Outcome::default());
    let (again, recovery) = open(copy)?;
    ensure!(recovery.closed.len() == 1, "{recovery:?}");
    ensure!(count(&again)? == settled + 1, "a line is missing after the start");
    let journal = again.journal(0, 0);
    ensure!(matches!(journal.announce(&Intent::default()), Err(AnnounceError::Full)), "there is no room");
    ensure!(again.query(&Query::default(), None, 10)?.lines.len() == 10, "questions are answered");
    fs::remove_file(marker)?;
    ensure!(again.tend(0).short.is_none(), "there is room again");
    journal.announce(&Intent::default())?.settle(&Outcome::default());
    ensure!(count(&again)? == settled + 2, "a line is missing at the end");
    Ok(())
}

fn open(folder: &Path) -> anyhow::Result<(Ledger, Recovery)> {
    let mib = 1024 * 1024;
    let options = Options { bytes_max: 1024 * mib, segment_bytes: 64 * 1024, keep: None, incarnation: 1 };
    Ok(Ledger::open(folder, options)?)
}

fn until_full(ledger: &Ledger, journal: &Journal, calls_max: u64) -> anyhow::Result<Vec<Entry>> {
    let mut entries = Vec::new();
    while (entries.len() as u64) < calls_max {
        match journal.announce(&Intent { model: "model", ..Intent::default() }) {
            Ok(entry) => entries.push(entry),
            Err(AnnounceError::Full) if ledger.tend(0).short.is_none() => {}
            Err(AnnounceError::Full) => break,
            Err(other) => bail!(other),
        }
    }
    Ok(entries)
}

fn settle(entries: Vec<Entry>) -> u64 {
    let count = entries.len() as u64;
    entries
        .into_iter()
        .for_each(|entry| entry.settle(&Outcome { end_ms: 1, nano_usd: 1, ..Outcome::default() }));
    count
}

fn count(ledger: &Ledger) -> anyhow::Result<u64> {
    let sums = ledger.sums(&Query::default(), &[Dimension::Model])?;
    Ok(sums.iter().map(|sum| sum.reported.calls + sum.estimated.calls).sum())
}

fn is_unfinished(path: &Path) -> bool {
    path.extension().is_some_and(|end| end == "new")
}

/// What a killed process would leave, made by one for which there is room.
fn killed(from: &Path, to: &Path) -> anyhow::Result<()> {
    let copied = Command::new("cp").env_remove("LD_PRELOAD").arg("-r").arg(from).arg(to).status();
    ensure!(copied.context("cannot start cp")?.success(), "it cannot be copied");
    Ok(())
}

/// The disk that is full, made with the C compiler.
fn library() -> anyhow::Result<PathBuf> {
    let library = Path::new(env!("CARGO_TARGET_TMPDIR")).join("full.so");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/full.c");
    let made = Command::new("cc").args(["-O1", "-shared", "-fPIC", "-o"]).arg(&library).arg(source).status();
    ensure!(made.context("cannot start cc")?.success(), "{source} cannot be compiled");
    Ok(library)
}
