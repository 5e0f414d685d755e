//! A ledger that is copied piece by piece while it is written: what is there can be asked, each line once.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use trestle_store::{
    Chunk, Copies, CopyError, Dimension, Intent, Journal, Ledger, Name, Options, Outcome, Piece, Query,
};

const NODE: u64 = 0xA1;

struct World {
    _folder: tempfile::TempDir,
    path: std::path::PathBuf,
    ledger: Ledger,
    copies: Copies,
}

fn world() -> World {
    let folder = tempfile::tempdir().unwrap();
    let options = Options { bytes_max: 64 << 20, segment_bytes: 64 * 1024, ..Options::default() };
    let (ledger, _) = Ledger::open(&folder.path().join("ledger"), options).unwrap();
    let path = folder.path().join("copies");
    World { copies: Copies::open(&path).unwrap(), path, ledger, _folder: folder }
}

fn write(ledger: &Ledger, journal: &Journal, calls: std::ops::Range<u64>) {
    let model = "chat".repeat(50);
    for call in calls {
        let intent = Intent { call: call.into(), model: &model, ..Intent::default() };
        let entry = journal.announce(&intent).or_else(|_| {
            ledger.tend(0);
            journal.announce(&intent)
        });
        entry.unwrap().settle(&Outcome { end_ms: 1000 + call, nano_usd: 3, ..Outcome::default() });
    }
}

fn chunk(name: Name, offset: u64, piece: &Piece) -> Chunk<'_> {
    let Piece { bytes, crc, is_sealed, crc_of_all } = piece;
    Chunk { name, offset, bytes, crc: *crc, is_sealed: *is_sealed, crc_of_all: *crc_of_all }
}

/// Copies all that can be, in chunks of this size; how many were sent.
fn copy(world: &World, chunk_bytes: usize, room: u64) -> Result<usize, CopyError> {
    let World { ledger, copies, .. } = world;
    let mut sent = 0;
    for copyable in ledger.copyable() {
        let held = copies.held(NODE).into_iter().find(|held| held.name == copyable.name);
        let mut held = held.map_or((0, false), |held| (held.bytes, held.is_sealed));
        while held.0 < copyable.bytes || held.1 != copyable.is_sealed {
            let piece = ledger.piece(copyable.name, held.0, chunk_bytes).unwrap().unwrap();
            let chunk = chunk(copyable.name, held.0, &piece);
            let copied = copies.append(NODE, &chunk, room)?;
            // The same again changes nothing.
            assert_eq!(copies.append(NODE, &chunk, room)?, copied);
            held = (copied.bytes, copied.is_sealed);
            sent += 1;
        }
    }
    Ok(sent)
}

fn sequences(copies: &Copies) -> BTreeSet<u64> {
    copies.held(NODE).into_iter().map(|held| held.name.sequence).collect()
}

fn check(world: &World, copies: &Copies) {
    let all = sequences(copies);
    let (mut after, mut theirs) = (None, None);
    loop {
        let ours = world.ledger.query(&Query::default(), after, 700).unwrap();
        let page = copies.query((NODE, &all), &Query::default(), theirs, 700).unwrap();
        assert_eq!(page, ours, "places are the same, too");
        (after, theirs) = (ours.next, page.next);
        if after.is_none() {
            break;
        }
    }
    let by = [Dimension::Model];
    let sums = copies.sums((NODE, &all), &Query::default(), &by).unwrap();
    assert_eq!(sums, world.ledger.sums(&Query::default(), &by).unwrap());
}

#[test]
fn what_is_copied_is_what_was_written() {
    let world = world();
    let journals = [world.ledger.journal(0, 0), world.ledger.journal(1, 0)];
    for round in 0..10 {
        let from = round * 200;
        write(&world.ledger, &journals[round as usize % 2], from..from + 200);
        assert!(world.ledger.copyable().len() as u64 <= 2 + round * 3);
        world.ledger.sync().unwrap();
        world.ledger.tend(0);
        assert!(copy(&world, 8192 + 1000 * round as usize, 64 << 20).unwrap() > 0);
        check(&world, &world.copies);
    }
    drop(journals);
    world.ledger.tend(0);
    copy(&world, 5_000_000, 64 << 20).unwrap();
    assert!(world.copies.held(NODE).iter().all(|held| held.is_sealed));
    assert_eq!((world.copies.nodes(), copy(&world, 100_000, 0).unwrap()), (vec![NODE], 0));
    check(&world, &world.copies);
    let World { copies, path, .. } = &world;
    assert!(Copies::open(path).is_err(), "it is locked");
    let held = copies.held(NODE);
    let nobody = copies.query((NODE, &BTreeSet::new()), &Query::default(), None, 9).unwrap();
    assert!(nobody.lines.is_empty(), "of no segment");
    let half: BTreeSet<_> = sequences(copies).into_iter().take(2).collect();
    let part = copies.query((NODE, &half), &Query::default(), None, 1000).unwrap();
    assert!(!part.lines.is_empty() && part.lines.len() < 1000 && held.len() > 3);
}

#[test]
fn copies_are_there_after_a_restart_and_grow_on() {
    let mut world = world();
    let journal = world.ledger.journal(0, 0);
    write(&world.ledger, &journal, 0..300);
    world.ledger.sync().unwrap();
    copy(&world, 20_000, 64 << 20).unwrap();
    let before = world.copies.held(NODE);
    // What a start finds.
    world.copies = Copies::open(&world.path.with_file_name("none")).unwrap();
    world.copies = Copies::open(&world.path).unwrap();
    assert_eq!(world.copies.held(NODE), before);
    write(&world.ledger, &journal, 300..600);
    world.ledger.sync().unwrap();
    copy(&world, 20_000, 64 << 20).unwrap();
    check(&world, &world.copies);
}

#[test]
fn what_is_no_segment_is_refused_and_what_differs_begins_anew() {
    let world = world();
    let journal = world.ledger.journal(0, 0);
    write(&world.ledger, &journal, 0..10);
    drop(journal);
    world.ledger.tend(0);
    let copyable = world.ledger.copyable()[0];
    let piece = world.ledger.piece(copyable.name, 0, 1 << 20).unwrap().unwrap();
    let chunk = Chunk { crc_of_all: None, ..chunk(copyable.name, 0, &piece) };
    let bytes = &piece.bytes;
    let append = |chunk: &Chunk<'_>| world.copies.append(NODE, chunk, 1 << 20);
    let other = Name { sequence: copyable.name.sequence + 1, ..copyable.name };
    assert!(matches!(append(&Chunk { name: other, ..chunk }), Err(CopyError::Malformed(_))));
    assert!(matches!(
        append(&Chunk { bytes: &bytes[..100], crc: crc32fast::hash(&bytes[..100]), ..chunk }),
        Err(CopyError::Malformed(_))
    ));
    assert_eq!(append(&Chunk { offset: 9, ..chunk }).unwrap().bytes, 0, "a part is missing");
    assert!(matches!(append(&Chunk { crc: chunk.crc ^ 1, ..chunk }), Err(CopyError::Malformed(_))));
    let right = piece.crc_of_all.unwrap();
    assert_eq!(append(&Chunk { crc_of_all: Some(right ^ 1), ..chunk }).unwrap().bytes, 0);
    assert_eq!(world.copies.held(NODE), []);
    let whole = append(&Chunk { crc_of_all: Some(right), ..chunk }).unwrap();
    assert_eq!((whole.bytes, whole.is_sealed), (bytes.len() as u64, true));
    check(&world, &world.copies);
}

#[test]
fn the_oldest_go_first_and_what_is_old_is_not_taken_for_it() {
    let world = world();
    let journal = world.ledger.journal(0, 0);
    write(&world.ledger, &journal, 0..2000);
    world.ledger.sync().unwrap();
    world.ledger.tend(0);
    let sealed = world.ledger.copyable().iter().filter(|copyable| copyable.is_sealed).count();
    assert!(sealed > 3, "{sealed}");
    let room = 3 * 64 * 1024;
    assert!(matches!(copy(&world, 10_000, room), Err(CopyError::Full)), "sealed ones push nothing out");
    let full = sequences(&world.copies);
    assert!(world.copies.bytes() <= room && full.len() >= 2, "{full:?}");
    let live = *world.ledger.copyable().last().unwrap();
    let piece = world.ledger.piece(live.name, 0, 1 << 20).unwrap().unwrap();
    let chunk = chunk(live.name, 0, &piece);
    world.copies.append(NODE, &chunk, room.min(world.copies.bytes() + 1000)).unwrap();
    let now = sequences(&world.copies);
    assert!(now.contains(&live.name.sequence) && !now.contains(full.first().unwrap()), "{now:?} of {full:?}");
    world.copies.trim(u64::MAX, 1_000_000).unwrap();
    let left = world.copies.held(NODE);
    assert!(left.iter().all(|held| !held.is_sealed) && !left.is_empty(), "{left:?}");
}
