//! Files that lost their end.

use super::{DEADLINE, all, change, open, write};
use crate::consensus::Consensus;
use std::{fs, path::Path};
use tempfile::TempDir;

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let to = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => copy(&entry.path(), &to),
            false => drop(fs::copy(entry.path(), to).unwrap()),
        }
    }
}

/// A folder whose database has several segments, a summary of its log, and a snapshot.
async fn filled() -> TempDir {
    let folder = TempDir::new().unwrap();
    for restart in 0..3 {
        let consensus = open(folder.path()).await;
        for n in 0..6 {
            let value = "x".repeat(if n % 2 == 1 { 300_000 } else { 100 });
            let writes = vec![write("key", &format!("{restart}-{n}"), Some(&value))];
            consensus.propose(change(None, writes), DEADLINE).await.unwrap();
        }
        if restart == 1 {
            consensus.snapshot().await.unwrap();
        }
        consensus.close().await.unwrap();
    }
    folder
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_lost_its_end_is_used_whole_or_not_at_all() {
    const CUTS: u64 = 12;
    let folder = filled().await;
    let expected = all(&open(folder.path()).await);
    let database = folder.path().join("consensus/db");
    let files = fs::read_dir(&database).unwrap().map(Result::unwrap);
    let files: Vec<_> = files.filter(|file| file.file_type().unwrap().is_file()).collect();
    assert!(files.len() >= 3, "{files:?}");
    let mut set_aside = 0;
    for file in files {
        let length = file.metadata().unwrap().len();
        let cuts = (0..CUTS).map(|part| length * part / CUTS).chain([length.saturating_sub(1)]);
        for cut in cuts {
            let copied = TempDir::new().unwrap();
            copy(folder.path(), copied.path());
            let path = copied.path().join("consensus/db").join(file.file_name());
            fs::File::options().write(true).open(path).unwrap().set_len(cut).unwrap();
            let opened = Consensus::open(copied.path()).await.unwrap();
            let found = all(&opened.consensus);
            let expected = if opened.set_aside.is_some() { &[][..] } else { &expected };
            assert!(found == expected, "{:?} cut to {cut} of {length}: {}", file.file_name(), found.len());
            set_aside += u32::from(opened.set_aside.is_some());
        }
    }
    assert!(set_aside > 0);
}
