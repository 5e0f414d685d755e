//! A disk that is full or was made read-only (Linux, by `refuse.c`): who proposes hears that consensus has ended, reads go
//! on, a start says why it cannot be; and once the disk takes writes again, all that was acknowledged is there.

use anyhow::{Context as _, bail, ensure};
use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};
use tokio::time::timeout;
use trestle_cluster::{Change, Consensus, OpenError, ProposeError, Write};

const DEADLINE: Duration = Duration::from_secs(20);
const ENOSPC: i32 = 28;
const EROFS: i32 = 30;
const ROUNDS: usize = 4;
/// So many changes before the disk refuses; it may take a few more.
const CHANGES: u64 = 10;
/// A disk begins to refuse within so many calls of a start.
const START_CALLS: u64 = 80;
const TRIES_MAX: u64 = 50;

fn main() -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let marker = env::var_os("REFUSE_WHILE").map(PathBuf::from);
    let folder = env::var_os("REFUSE_IN").map(PathBuf::from);
    let any = env::var_os("REFUSE_AFTER").is_some();
    let done = runtime.block_on(async {
        match marker.zip(folder) {
            Some((_, folder)) if any => half_a_start(&folder).await,
            Some((marker, folder)) if marker.exists() => refused_start(&folder).await,
            Some((marker, folder)) => refused_change(&folder, &marker).await,
            None => {
                let library = library()?;
                for (errno, name) in [(ENOSPC, "full"), (EROFS, "read-only")] {
                    check(&library, errno).await.with_context(|| format!("a disk that is {name}"))?;
                    check_starts(&library, errno).await.with_context(|| format!("a disk that is {name}"))?;
                    println!("a disk that is {name}: nothing lost");
                }
                Ok(())
            }
        }
    });
    // The database may miss that a write failed, and wait for it for ever in a thread of its own.
    runtime.shutdown_background();
    done
}

async fn check(library: &Path, errno: i32) -> anyhow::Result<()> {
    let place = tempfile::tempdir()?;
    let (marker, folder) = (place.path().join("marker"), place.path().join("data"));
    // Nothing is there yet, and nothing can be made.
    fs::write(&marker, "")?;
    child(library, &marker, &folder, errno)?;
    fs::remove_file(&marker)?;
    let mut known = 0;
    for round in 0..ROUNDS {
        let said = child(library, &marker, &folder, errno)?;
        let acknowledged: u64 = said.trim().parse().with_context(|| format!("it said {said:?}"))?;
        ensure!(acknowledged >= known + CHANGES, "{acknowledged} of {known} and {CHANGES}");
        ensure!(marker.exists(), "the disk did not refuse");
        // A start now says why, and leaves the data alone.
        child(library, &marker, &folder, errno)?;
        fs::remove_file(&marker)?;
        let consensus = open(&folder).await.with_context(|| format!("round {round}"))?;
        known = look(&consensus)?;
        // The change that was refused may be in effect after all: it was never said that it is not.
        ensure!((acknowledged..=acknowledged + 1).contains(&known), "{known}, not {acknowledged}");
        consensus.close().await?;
    }
    Ok(())
}

/// The disk begins to refuse at moments of a first start, and of a start with data.
async fn check_starts(library: &Path, errno: i32) -> anyhow::Result<()> {
    for after in (0..START_CALLS).step_by(5) {
        let place = tempfile::tempdir()?;
        let (marker, folder) = (place.path().join("marker"), place.path().join("data"));
        fs::write(&marker, "")?;
        for known in 0..2 {
            let mut child = command(library, &marker, &folder, errno)?;
            run(child.env("REFUSE_AFTER", after.to_string()))
                .with_context(|| format!("after {after} calls"))?;
            let consensus =
                open(&folder).await.with_context(|| format!("after {after} calls, {known} changes"))?;
            ensure!(look(&consensus)? == known, "a change is gone");
            consensus.propose(number(known), DEADLINE).await?;
            consensus.close().await?;
        }
    }
    Ok(())
}

/// Opens the folder, or says that it cannot.
async fn half_a_start(folder: &Path) -> anyhow::Result<()> {
    match timeout(DEADLINE * 2, Consensus::open(folder)).await? {
        Ok(opened) => ensure!(opened.set_aside.is_none(), "set aside: {:?}", opened.set_aside),
        Err(OpenError::Refused(..) | OpenError::Start(_)) => {}
        Err(other) => bail!("it does not say why: {other}"),
    }
    Ok(())
}

fn number(revision: u64) -> Change {
    let value = Some(vec![b'x'; if revision.is_multiple_of(3) { 60_000 } else { 10 }]);
    let write = Write { kind: "number".into(), id: format!("{revision:06}"), introduced: 1, value };
    Change { expected_revision: Some(revision), writes: vec![write], origin: Vec::new() }
}

async fn open(folder: &Path) -> anyhow::Result<Consensus> {
    let opened = Consensus::open(folder).await?;
    ensure!(opened.set_aside.is_none(), "the folder was found damaged: {:?}", opened.set_aside);
    Ok(opened.consensus)
}

/// The last number; every one before it is there as well.
fn look(consensus: &Consensus) -> anyhow::Result<u64> {
    let (revision, entities) = consensus.entities()?;
    ensure!(entities.len() as u64 == revision, "{} of {revision}", entities.len());
    ensure!(consensus.history(None, usize::MAX)?.len() as u64 == revision, "records are missing");
    ensure!(consensus.head()?.0 == revision && consensus.revision() == revision, "not one revision");
    Ok(revision)
}

/// Makes changes until the disk refuses, and says how many are in effect.
async fn refused_change(folder: &Path, marker: &Path) -> anyhow::Result<()> {
    let consensus = open(folder).await?;
    let begun = look(&consensus)?;
    let (mut revision, mut error) = (begun, None);
    while error.is_none() {
        ensure!(revision < begun + CHANGES + TRIES_MAX, "the disk refuses, and changes are acknowledged");
        if revision == begun + CHANGES {
            fs::write(marker, "")?;
        }
        match consensus.propose(number(revision), DEADLINE).await {
            Ok(made) => revision = made,
            Err(ended) => error = Some(ended),
        }
    }
    let Some(ProposeError::Ended(_)) = error else { bail!("it does not say that it ended: {error:?}") };
    ensure!(look(&consensus)? == revision, "what is read is not what was acknowledged");
    let nothing = Change { expected_revision: None, writes: Vec::new(), origin: Vec::new() };
    let again = timeout(DEADLINE, consensus.propose(nothing, DEADLINE)).await?;
    ensure!(matches!(again, Err(ProposeError::Ended(_))), "it goes on: {again:?}");
    let reader = consensus.clone();
    let _ = timeout(DEADLINE, consensus.close()).await.context("it does not end")?;
    ensure!(look(&reader)? == revision, "reads ended with it");
    println!("{revision}");
    Ok(())
}

async fn refused_start(folder: &Path) -> anyhow::Result<()> {
    match timeout(DEADLINE * 2, Consensus::open(folder)).await? {
        Err(error @ OpenError::Refused(..)) => {
            let text = error.to_string();
            ensure!(text.contains("free space") && text.contains("may write"), "{text}");
            Ok(())
        }
        Err(error) => bail!("it does not say why: {error}"),
        Ok(opened) => bail!("it opens; set aside: {:?}", opened.set_aside),
    }
}

/// Runs this program with the disk that refuses; what it says.
fn child(library: &Path, marker: &Path, folder: &Path, errno: i32) -> anyhow::Result<String> {
    run(&mut command(library, marker, folder, errno)?)
}

fn command(library: &Path, marker: &Path, folder: &Path, errno: i32) -> anyhow::Result<Command> {
    let mut child = Command::new(env::current_exe()?);
    child.env("LD_PRELOAD", library).env("REFUSE_WHILE", marker).env("REFUSE_IN", folder);
    child.env("REFUSE_WITH", errno.to_string());
    Ok(child)
}

fn run(child: &mut Command) -> anyhow::Result<String> {
    let ended = child.output()?;
    let error = String::from_utf8_lossy(&ended.stderr);
    ensure!(ended.status.success(), "{}: {error}", ended.status);
    Ok(String::from_utf8(ended.stdout)?)
}

/// The disk that refuses, made with the C compiler.
fn library() -> anyhow::Result<PathBuf> {
    let library = Path::new(env!("CARGO_TARGET_TMPDIR")).join("refuse.so");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/refuse.c");
    let made = Command::new("cc").args(["-O1", "-shared", "-fPIC", "-o"]).arg(&library).arg(source).status();
    ensure!(made.context("cannot start cc")?.success(), "{source} cannot be compiled");
    Ok(library)
}
