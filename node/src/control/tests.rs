//! What other nodes, or other versions, may have left or do meanwhile.

use super::{Begin, ChangeError, Control, Edit, Intent, Keyring, Origin, Purpose, Via};
use crate::source::Source;
use serde_json::json;
use std::{path::Path, time::Duration};
use tokio::{runtime::Handle, task::block_in_place};
use trestle_cluster::{Change, Consensus, Write};
use trestle_config::{Difference, Entity, Kind};

const DEADLINE: Duration = Duration::from_secs(20);

async fn begin(folder: &Path) -> Control {
    begin_with(folder, Keyring::new(None, None).unwrap()).await
}

async fn begin_with(folder: &Path, keyring: Keyring) -> Control {
    let begin = Begin {
        folder: folder.to_owned(),
        keyring,
        source: Source::Made(Box::default()),
        purpose: Purpose::Seed,
        first_token: None,
        own_token: None,
    };
    let consensus = Consensus::open(folder).await.unwrap().consensus;
    begin.take_up(consensus).await.unwrap().0
}

fn write(id: &str, value: &serde_json::Value) -> Change {
    let value = Some(serde_json::to_vec(value).unwrap());
    let write = Write { kind: "models".to_owned(), id: id.to_owned(), introduced: 1, value };
    Change { expected_revision: None, writes: vec![write], origin: Vec::new() }
}

fn set(id: &str) -> Edit {
    let model = Entity::new(Kind::Model, id, json!({"targets": [{"model": "mock/echo"}]}));
    Edit { document: vec![Difference::Set(model)], ..Edit::default() }
}

fn origin() -> Origin {
    Origin::of_process(Via::Start, "a test")
}

#[tokio::test(flavor = "multi_thread")]
async fn what_does_not_compile_can_be_mended() {
    let folder = tempfile::tempdir().unwrap();
    let consensus = Consensus::open(folder.path()).await.unwrap().consensus;
    let wrong = json!({"targets": [{"model": "gone/x"}]});
    consensus.propose(write("wrong", &wrong), DEADLINE).await.unwrap();
    consensus.close().await.unwrap();
    let control = begin(folder.path()).await;
    let problems = control.broken().unwrap().to_string();
    assert!(problems.contains("models.wrong.targets[0].model"), "{problems}");
    assert_eq!(control.snapshot().revision, 0, "nothing is served");
    // What does not mend it is refused, and what does is taken.
    let refused = control.change(&origin(), Intent::Apply, |_| Ok(set("other"))).await.unwrap_err();
    assert!(matches!(refused, ChangeError::Invalid(_)), "{refused}");
    control.change(&origin(), Intent::Apply, |_| Ok(set("wrong"))).await.unwrap();
    assert!(control.broken().is_none());
    assert_eq!((control.snapshot().revision, control.snapshot().groups.len()), (2, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_snapshot_that_was_good_stays_when_others_break_it() {
    let folder = tempfile::tempdir().unwrap();
    let control = begin(folder.path()).await;
    control.change(&origin(), Intent::Apply, |_| Ok(set("good"))).await.unwrap();
    let wrong = json!({"targets": [], "later": true});
    let revision = control.consensus().propose(write("wrong", &wrong), DEADLINE).await.unwrap();
    control.0.applied.subscribe().wait_for(|applied| *applied >= revision).await.unwrap();
    assert!(control.broken().is_some());
    assert!(control.snapshot().groups.contains_key("good"));
    let gone =
        Edit { document: vec![Difference::Removed(Kind::Model, "wrong".to_owned())], ..Edit::default() };
    let mut gone = Some(gone);
    control.change(&origin(), Intent::Apply, |_| Ok(gone.take().unwrap_or_default())).await.unwrap();
    assert!(control.broken().is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edit_is_made_anew_when_others_came_first() {
    let folder = tempfile::tempdir().unwrap();
    let control = begin(folder.path()).await;
    let fine = json!({"targets": [{"model": "mock/other"}]});
    for (rivals, succeeds) in [(0, true), (3, true), (5, false)] {
        let mut made = 0;
        let origin = origin();
        let done = control.change(&origin, Intent::Apply, |view| {
            made += 1;
            if made <= rivals {
                let theirs = write(&format!("theirs-{rivals}-{made}"), &fine);
                let proposing = control.consensus().propose(theirs, DEADLINE);
                block_in_place(|| Handle::current().block_on(proposing)).unwrap();
            }
            let name = format!("ours-{rivals}");
            assert!(view.entity(Kind::Model, &name)?.is_none());
            Ok(set(&name))
        });
        let done = done.await;
        assert_eq!(done.is_ok(), succeeds, "{done:?}");
        assert_eq!(made, if succeeds { rivals + 1 } else { 5 });
        if !succeeds {
            assert!(matches!(done, Err(ChangeError::Busy)), "{done:?}");
        }
    }
    assert_eq!(control.snapshot().groups.len(), 2 + 3 + 5);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_store_the_snapshot_stays() {
    let folder = tempfile::tempdir().unwrap();
    let control = begin(folder.path()).await;
    control.change(&origin(), Intent::Apply, |_| Ok(set("good"))).await.unwrap();
    control.close().await;
    let refused = control.change(&origin(), Intent::Apply, |_| Ok(set("late"))).await.unwrap_err();
    assert!(matches!(refused, ChangeError::Store(_)), "{refused}");
    assert!(control.snapshot().groups.contains_key("good"));
    assert_eq!(control.view().all().unwrap().len(), 1, "what is kept can be looked at");
}

#[test]
fn what_is_derived_lasts_as_long_as_the_data_key() {
    let folders = [1, 2, 3].map(|_| tempfile::tempdir().unwrap());
    let texts = [1, 2].map(|byte: u8| format!("{byte:02x}").repeat(32));
    let [one, two] = [Some(texts[0].as_str()), Some(texts[1].as_str())];
    // A process each, as it were: the folder is free again when the runtime is gone.
    let derived = |folder: usize, now: Option<&str>, before: Option<&str>| {
        tokio::runtime::Runtime::new().unwrap().block_on(async {
            let keyring = Keyring::new(now, before).unwrap();
            let control = begin_with(folders[folder].path(), keyring).await;
            let derived = control.snapshot().derived;
            control.change(&origin(), Intent::Apply, |_| Ok(set("more"))).await.unwrap();
            assert_eq!(control.snapshot().derived, derived, "whatever changes in the document");
            derived
        })
    };
    let first = derived(0, one, None).unwrap();
    assert_ne!(first.ids, first.signatures);
    assert_eq!(format!("{first:?}"), "Derived { .. }");
    for (now, before) in [(one, None), (two, one), (two, None)] {
        assert_eq!(derived(0, now, before).unwrap(), first);
    }
    assert_ne!(derived(1, one, None).unwrap(), first, "another gateway has its own");
    assert_eq!(derived(2, None, None), None);
}

/// Neither a file that nobody refers to any more, nor one that is wrong, is read again and again.
#[tokio::test(flavor = "multi_thread")]
async fn a_file_is_taken_once_for_each_change() {
    let (folder, files) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let path = |name: &str| files.path().join(name);
    for name in ["a", "b"] {
        std::fs::write(path(name), name).unwrap();
    }
    let control = begin(folder.path()).await;
    let key = |name: &str| {
        let value = json!({"value": format!("file:{}", path(name).display())});
        Difference::Set(Entity::new(Kind::Key, name, value))
    };
    let both = [key("a"), key("b")];
    let edit = |document: &[Difference]| Edit { document: document.to_vec(), ..Edit::default() };
    control.change(&origin(), Intent::Apply, |_| Ok(edit(&both))).await.unwrap();
    assert!(!control.files_changed());
    std::fs::write(path("a"), "b").unwrap();
    control.refresh();
    assert!(control.broken().unwrap().to_string().contains("is the same key"));
    assert!(!control.files_changed(), "it was read, though nothing came of it");
    std::fs::write(path("a"), "c").unwrap();
    let mended = async {
        while control.broken().is_some() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(DEADLINE, mended).await.expect("what mends the file is noticed");
    let gone = [Difference::Removed(Kind::Key, "a".to_owned())];
    control.change(&origin(), Intent::Apply, |_| Ok(edit(&gone))).await.unwrap();
    std::fs::write(path("a"), "d").unwrap();
    control.refresh();
    assert!(control.broken().is_none() && !control.files_changed(), "nobody refers to it");
}
