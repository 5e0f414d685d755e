//! A writer is killed (`SIGKILL`) at random moments, again and again in the same folder: nothing that it was told to be in
//! effect is missing, and nothing is half there. `TRESTLE_CRASH_ROUNDS` sets how often.

use anyhow::{Context as _, bail, ensure};
use std::{
    env,
    io::{BufRead, BufReader, Write as _},
    path::Path,
    process::{Command, Stdio},
    thread::sleep,
    time::Duration,
};
use trestle_cluster::{Change, Condition, Consensus, Write};

const ROUNDS: u32 = 200;
const DEADLINE: Duration = Duration::from_secs(20);
/// The writer lives so long after its first acknowledged change.
const LIFE_MS_MAX: u64 = 40;
/// Now and then a change is so large that it is sent in parts, or a snapshot is made.
const LARGE_EVERY: u64 = 7;
const SNAPSHOT_EVERY: u64 = 11;

fn main() -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    match env::var_os("TRESTLE_CRASH_FOLDER") {
        Some(folder) => runtime.block_on(write(Path::new(&folder))),
        None => runtime.block_on(kill_again_and_again()),
    }
}

async fn open(folder: &Path) -> anyhow::Result<Consensus> {
    let opened = Consensus::open(folder).await?;
    ensure!(opened.set_aside.is_none(), "the folder was found damaged: {:?}", opened.set_aside);
    Ok(opened.consensus)
}

/// The value of both entities, which always change together, and the revision.
fn look(consensus: &Consensus) -> anyhow::Result<(u64, u64)> {
    let (revision, entities) = consensus.entities()?;
    let mut values = Vec::new();
    for entity in entities.iter().filter(|entity| entity.kind == "number") {
        ensure!(
            entity.revision == revision,
            "{} is of revision {}, not {revision}",
            entity.id,
            entity.revision
        );
        values.push(std::str::from_utf8(&entity.value)?.trim_end_matches('.').parse()?);
    }
    match values[..] {
        [] => Ok((0, revision)),
        [one, other] if one == other => Ok((one, revision)),
        _ => bail!("half of a change: {values:?}"),
    }
}

/// Counts up, and says each number once it is acknowledged.
async fn write(folder: &Path) -> anyhow::Result<()> {
    let consensus = open(folder).await?;
    let (from, mut revision) = look(&consensus)?;
    for number in from + 1.. {
        let large = if number % LARGE_EVERY == 0 { ".".repeat(50_000) } else { String::new() };
        let value = || Some(format!("{number}{large}").into_bytes());
        let write = |id: &str| Write { kind: "number".into(), id: id.into(), introduced: 1, value: value() };
        let condition = |id: &str| Condition { kind: "number".into(), id: id.into(), revision };
        let change = Change {
            conditions: vec![condition("one"), condition("other")],
            writes: vec![write("one"), write("other")],
            origin: Vec::new(),
        };
        revision = consensus.propose(change, DEADLINE).await?;
        let mut out = std::io::stdout().lock();
        writeln!(out, "{number} {revision}")?;
        out.flush()?;
        if number % SNAPSHOT_EVERY == 0 {
            consensus.snapshot().await?;
        }
    }
    Ok(())
}

async fn kill_again_and_again() -> anyhow::Result<()> {
    let rounds =
        env::var("TRESTLE_CRASH_ROUNDS").ok().map(|rounds| rounds.parse()).transpose()?.unwrap_or(ROUNDS);
    let folder = tempfile::tempdir()?;
    for round in 0..rounds {
        let acknowledged = one_life(folder.path()).with_context(|| format!("round {round}"))?;
        let consensus = open(folder.path()).await.with_context(|| format!("after round {round}"))?;
        let (number, revision) = look(&consensus)?;
        let (said, said_revision) = acknowledged;
        // One more may have been in effect that could not be said any more.
        ensure!(
            number == said || number == said + 1,
            "round {round}: {said} was acknowledged, {number} is there"
        );
        ensure!(
            revision == said_revision + (number - said),
            "round {round}: revision {revision}, not {said_revision}"
        );
        consensus.close().await?;
    }
    println!("killed {rounds} times, nothing lost");
    Ok(())
}

/// Starts a writer and kills it; the last number and revision that it said.
fn one_life(folder: &Path) -> anyhow::Result<(u64, u64)> {
    let mut writer = Command::new(env::current_exe()?)
        .env("TRESTLE_CRASH_FOLDER", folder)
        .stdout(Stdio::piped())
        .spawn()?;
    let mut lines = BufReader::new(writer.stdout.take().context("no output")?).lines();
    let mut last = lines.next().context("the writer ended by itself")??;
    let mut random = [0; 8];
    getrandom::fill(&mut random)?;
    sleep(Duration::from_millis(u64::from_le_bytes(random) % LIFE_MS_MAX));
    writer.kill()?;
    for line in lines {
        last = line?;
    }
    writer.wait()?;
    let (number, revision) = last.split_once(' ').context("not a pair")?;
    Ok((number.parse()?, revision.parse()?))
}
