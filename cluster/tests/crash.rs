//! A writer ends at random moments, again and again in the same folder: nothing that it was told to be in effect is
//! missing, and nothing is half there. First it is killed (`SIGKILL`), then its disk loses what was not synced (Linux, by
//! `forget.c`). `TRESTLE_CRASH_ROUNDS` sets how often.

use anyhow::{Context as _, bail, ensure};
use std::{
    env,
    io::{BufRead, BufReader, Write as _},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread::sleep,
    time::Duration,
};
use trestle_cluster::{Change, Consensus, Write};

const ROUNDS: u32 = 200;
const DEADLINE: Duration = Duration::from_secs(20);
/// The writer lives so long after its first acknowledged change.
const LIFE_MS_MAX: u64 = 40;
/// The power is lost at one of so many calls that write or sync; the writer ends so.
const CALLS_MAX: u64 = 400;
const POWERLESS: i32 = 99;
/// Now and then a change is so large that it is sent in parts, or a snapshot is made.
const LARGE_EVERY: u64 = 7;
const SNAPSHOT_EVERY: u64 = 11;
/// In rounds of their own each change has so many entities besides, so that it is applied in several transactions, of which
/// the database writes some before the last one is made.
const MANY: usize = 3_000;
const MANY_BYTES: usize = 800;
const MANY_ROUNDS: u32 = 5;
const MANY_LIFE_MS_MAX: u64 = 1_000;
/// What the numbers of such a change end with.
const WITH_MANY: char = '+';

fn main() -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    match env::var_os("TRESTLE_CRASH_FOLDER") {
        Some(folder) => runtime.block_on(write(Path::new(&folder))),
        None => runtime.block_on(async {
            let forget = forget()?;
            again_and_again("killed", ROUNDS, |folder| killed(&mut writer(folder)?, LIFE_MS_MAX)).await?;
            let cut = |folder: &Path| powerless(&mut writer(folder)?, &forget);
            again_and_again("without power", ROUNDS / 2, cut).await?;
            let many = |folder: &Path| {
                let mut writer = writer(folder)?;
                writer.env("TRESTLE_CRASH_MANY", "");
                anyhow::Ok(writer)
            };
            let life = |folder: &Path| killed(&mut many(folder)?, MANY_LIFE_MS_MAX);
            again_and_again("killed in large changes", MANY_ROUNDS, life).await?;
            let cut = |folder: &Path| powerless(&mut many(folder)?, &forget);
            again_and_again("without power in large changes", MANY_ROUNDS, cut).await
        }),
    }
}

async fn open(folder: &Path) -> anyhow::Result<Consensus> {
    let opened = Consensus::open(folder).await?;
    ensure!(opened.set_aside.is_none(), "the folder was found damaged: {:?}", opened.set_aside);
    Ok(opened.consensus)
}

/// The value of both entities, which always change together, and the revision. What changes with them is of the same.
fn look(consensus: &Consensus) -> anyhow::Result<(u64, u64)> {
    let (revision, entities) = consensus.entities()?;
    let (mut values, mut with_many) = (Vec::new(), false);
    for entity in entities.iter().filter(|entity| entity.kind == "number") {
        ensure!(
            entity.revision == revision,
            "{} is of revision {}, not {revision}",
            entity.id,
            entity.revision
        );
        let value = std::str::from_utf8(&entity.value)?;
        with_many |= value.ends_with(WITH_MANY);
        values.push(value.trim_end_matches(['.', WITH_MANY]).parse()?);
    }
    let number = match values[..] {
        [] => 0,
        [one, other] if one == other => one,
        _ => bail!("half of a change: {values:?}"),
    };
    let mut count = 0;
    for entity in entities.iter().filter(|entity| entity.kind == "many") {
        let whole = entity.revision == revision && entity.value == many_value(number);
        ensure!(whole, "{} of many is of revision {}, not {revision}", entity.id, entity.revision);
        count += 1;
    }
    ensure!(count == if with_many { MANY } else { 0 }, "{count} of many");
    let steps = consensus.record(revision)?.map_or(0, |record| record.steps.len());
    ensure!(revision == 0 || steps == count + 2, "the record of {revision} has {steps} steps");
    Ok((number, revision))
}

/// Counts up, and says each number once it is acknowledged.
async fn write(folder: &Path) -> anyhow::Result<()> {
    let with_many = env::var_os("TRESTLE_CRASH_MANY").is_some();
    let consensus = open(folder).await?;
    let (from, mut revision) = look(&consensus)?;
    for number in from + 1.. {
        let large = match number % LARGE_EVERY == 0 {
            _ if with_many => WITH_MANY.to_string(),
            true => ".".repeat(25_000),
            false => String::new(),
        };
        let value = || Some(format!("{number}{large}").into_bytes());
        let write = |id: &str| Write { kind: "number".into(), id: id.into(), introduced: 1, value: value() };
        let mut writes = vec![write("one"), write("other")];
        writes.extend((0..if with_many { MANY } else { 0 }).map(|n| many(n, number)));
        let change = Change { expected_revision: Some(revision), writes, origin: Vec::new() };
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

fn many(n: usize, number: u64) -> Write {
    Write { kind: "many".into(), id: n.to_string(), introduced: 1, value: Some(many_value(number)) }
}

fn many_value(number: u64) -> Vec<u8> {
    format!("{number:0MANY_BYTES$}").into_bytes()
}

/// What a writer said last: number and revision.
type Said = (u64, u64);

async fn again_and_again(
    how: &str,
    rounds: u32,
    life: impl Fn(&Path) -> anyhow::Result<Option<Said>>,
) -> anyhow::Result<()> {
    let rounds = match env::var("TRESTLE_CRASH_ROUNDS") {
        Ok(rounds) => rounds.parse()?,
        Err(_) => rounds,
    };
    let folder = tempfile::tempdir()?;
    let mut known = (0, 0);
    for round in 0..rounds {
        let said = life(folder.path()).with_context(|| format!("round {round}"))?;
        let (said, said_revision) = said.unwrap_or(known);
        let consensus = open(folder.path()).await.with_context(|| format!("{how}, after round {round}"))?;
        known = look(&consensus)?;
        let (number, revision) = known;
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
    // Such files are never synced, so there must be none.
    let large = std::fs::read_dir(folder.path().join("consensus/db/blobs"))?.count();
    ensure!(large == 0, "the database has {large} pages in files of their own");
    println!("{how} {rounds} times, nothing lost");
    Ok(())
}

fn writer(folder: &Path) -> anyhow::Result<Command> {
    let mut writer = Command::new(env::current_exe()?);
    writer.env("TRESTLE_CRASH_FOLDER", folder).stdout(Stdio::piped());
    Ok(writer)
}

/// Starts a writer and kills it once it has said something.
fn killed(writer: &mut Command, life_ms_max: u64) -> anyhow::Result<Option<Said>> {
    let mut writer = writer.spawn()?;
    let mut lines = BufReader::new(writer.stdout.take().context("no output")?).lines();
    let mut last = lines.next().context("the writer ended by itself")??;
    sleep(Duration::from_millis(random()? % life_ms_max));
    writer.kill()?;
    for line in lines {
        last = line?;
    }
    writer.wait()?;
    said(&last).map(Some)
}

/// Runs a writer until its disk has forgotten what was not synced. It may end before it has said anything.
fn powerless(writer: &mut Command, forget: &Path) -> anyhow::Result<Option<Said>> {
    let after = random()? % CALLS_MAX;
    let ended = writer.env("LD_PRELOAD", forget).env("FORGET_AFTER", after.to_string()).output()?;
    let error = String::from_utf8_lossy(&ended.stderr);
    ensure!(ended.status.code() == Some(POWERLESS), "the writer ended by itself: {error}");
    String::from_utf8(ended.stdout)?.lines().last().map(said).transpose()
}

/// The disk that forgets, made with the C compiler.
fn forget() -> anyhow::Result<PathBuf> {
    let library = Path::new(env!("CARGO_TARGET_TMPDIR")).join("forget.so");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/forget.c");
    let made = Command::new("cc").args(["-O1", "-shared", "-fPIC", "-o"]).arg(&library).arg(source).status();
    ensure!(made.context("cannot start cc")?.success(), "{source} cannot be compiled");
    Ok(library)
}

fn said(line: &str) -> anyhow::Result<Said> {
    let (number, revision) = line.split_once(' ').context("not a pair")?;
    Ok((number.parse()?, revision.parse()?))
}

fn random() -> anyhow::Result<u64> {
    let mut bytes = [0; 8];
    getrandom::fill(&mut bytes)?;
    Ok(u64::from_le_bytes(bytes))
}
