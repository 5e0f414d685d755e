//! Backups, and clusters that begin with one.

use super::*;
use crate::consensus::{BackupError, RestoreError, restore, start::Pace};

#[tokio::test(flavor = "multi_thread")]
async fn a_backup_is_another_cluster() {
    let mut old = Nodes::expecting(1);
    old.start("a").await;
    old.all_vote().await;
    let large = "v".repeat(60_000);
    for (id, value) in [("k", "1"), ("k", "2"), ("large", &large[..])] {
        old.set("a", id, value).await;
    }
    let run = crate::ShareRun {
        window: trestle_counters::Window::Calendar(trestle_counters::Calendar::Month),
        from: trestle_counters::WindowId(0),
        until: trestle_counters::WindowId(1),
        nodes: vec![old.node("a")],
    };
    old.at("a").fix_shares(&run, LONG).await.unwrap();
    assert_eq!(old.at("a").shares().borrow()[..], [run]);
    let file = old.folder.path().join("backup");
    assert_eq!(old.at("a").backup(&file).await.unwrap(), 3);
    assert!(matches!(old.at("a").backup(&file).await, Err(BackupError::Exists(_))));
    old.set("a", "k", "later").await;

    let mut new = Nodes::expecting(3);
    let restored = restore(&file, &new.path("a")).await.unwrap();
    assert_eq!(restored.revision, 3);
    assert_ne!(Some(restored.cluster), old.at("a").identity().cluster());
    assert_ne!(restored.node, old.node("a"));
    assert!(matches!(restore(&file, &new.path("a")).await, Err(RestoreError::Exists(_))));
    for name in ["a", "b", "c"] {
        new.start(name).await;
    }
    new.all_vote().await;
    assert_eq!((new.node("a"), new.at("b").identity().cluster()), (restored.node, Some(restored.cluster)));
    new.all_have("k", "2").await;
    new.all_have("large", &large).await;
    assert_eq!(new.set("c", "k", "3").await, 4);
    for name in ["a", "b", "c"] {
        new.at(name).caught_up(LONG).await.unwrap();
        let history = new.at(name).history(None, 10).unwrap();
        assert_eq!(history.len(), 4);
        assert_eq!(new.at(name).head().unwrap(), new.at("a").head().unwrap());
        assert_eq!(history[2].steps[0].before.as_deref(), Some(&b"1"[..]));
    }
    // And alone.
    let alone = new.path("alone");
    restore(&file, &alone).await.unwrap();
    let alone = Consensus::open(&alone).await.unwrap().consensus;
    assert!(alone.shares().borrow().is_empty(), "who spends there is another cluster's");
    assert_eq!((alone.revision(), get(&alone, "k").as_deref()), (3, Some("2")));
    alone.propose(change(Some(3), vec![write("key", "k", None)]), LONG).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_backup_makes_nothing() {
    let folder = TempDir::new().unwrap();
    let prepared = Prepared::open(&folder.path().join("old")).await.unwrap().at_pace(Pace::default());
    let old = prepared.alone().await.unwrap().consensus;
    old.propose(change(None, vec![write("key", "k", Some("1"))]), LONG).await.unwrap();
    let (file, new) = (folder.path().join("backup"), folder.path().join("new"));
    old.backup(&file).await.unwrap();
    let whole = fs::read(&file).unwrap();
    let mut flipped = whole.clone();
    flipped[whole.len() / 2] ^= 1;
    for damaged in [&whole[..whole.len() - 1], &flipped, b"", b"trestle snapshot 1\n"] {
        fs::write(&file, damaged).unwrap();
        assert!(matches!(restore(&file, &new).await, Err(RestoreError::Backup(..))));
        assert!(!new.exists());
    }
    fs::write(&file, whole).unwrap();
    restore(&file, &new).await.unwrap();
}
