//! A writer is killed (`SIGKILL`) at random moments, again and again in the same folder: each call that it said it had
//! announced has one line, and each that it said it had settled has what it said. `TRESTLE_CRASH_ROUNDS` sets how often.

use anyhow::{Context as _, ensure};
use std::{
    collections::{BTreeMap, HashMap},
    env,
    io::{Read as _, Write as _},
    path::Path,
    process::{Command, Stdio},
    thread,
    time::Duration,
};
use trestle_store::{
    AnnounceError, Basis, Change, Charge, Entry, Intent, Journal, Ledger, Options, Outcome, OutcomeKind,
    Position, Query, Recovery,
};

const ROUNDS: u64 = 50;
/// So long a writer lives at most, from its start: some are killed before they have opened the ledger.
const LIFE_MS_MAX: u64 = 60;
const THREADS: u32 = 2;
/// Calls that are open at once on each thread.
const OPEN: usize = 5;
/// Times and calls of one round are from here on.
const ROUND: u64 = 1 << 32;
/// Calls of one thread are from here on.
const THREAD: u64 = 1 << 28;
/// What each call is estimated to cost; what it then costs is its number.
const ESTIMATE: u64 = 7;

fn main() -> anyhow::Result<()> {
    match (env::var_os("TRESTLE_CRASH_FOLDER"), env::var("TRESTLE_CRASH_ROUND")) {
        (Some(folder), Ok(round)) => write(Path::new(&folder), round.parse()?),
        _ => again_and_again(),
    }
}

fn open(folder: &Path) -> anyhow::Result<(Ledger, Recovery)> {
    let bytes_max = 4 * 1024 * 1024 * 1024;
    let options = Options { bytes_max, segment_bytes: 64 * 1024, keep: None, incarnation: 1 };
    let (ledger, recovery) = Ledger::open(folder, options)?;
    ensure!(recovery.damage == Default::default(), "damaged: {:?}", recovery.damage);
    Ok((ledger, recovery))
}

/// Announces and settles calls on several threads, and says so: a byte for what it did, eight for the call.
fn write(folder: &Path, round: u64) -> anyhow::Result<()> {
    let (ledger, _) = open(folder)?;
    thread::scope(|scope| {
        for number in 0..THREADS {
            let ledger = &ledger;
            scope.spawn(move || {
                let journal = ledger.journal(number, 0);
                let mut open = Vec::new();
                let first = round * ROUND + u64::from(number) * THREAD;
                (first..).try_for_each(|call| make_call(&journal, &mut open, call))
            });
        }
        loop {
            let tended = ledger.tend(0);
            ensure!(tended.short.is_none() && tended.refused.is_none(), "{tended:?}");
            ledger.sync()?;
        }
    })
}

fn make_call(journal: &Journal, open: &mut Vec<(u64, Entry)>, call: u64) -> anyhow::Result<()> {
    let text = "x".repeat(call as usize % 200);
    let charges = [Charge { limit: 1, amount: ESTIMATE, ..Charge::default() }];
    let intent = Intent {
        call: call.into(),
        model: &text,
        start_ms: call,
        nano_usd: ESTIMATE,
        charges: &charges,
        ..Intent::default()
    };
    let entry = loop {
        match journal.announce(&intent) {
            Ok(entry) => break entry,
            Err(AnnounceError::Full) => thread::yield_now(),
            Err(other) => return Err(other.into()),
        }
    };
    say(b'a', call)?;
    open.push((call, entry));
    if open.len() > OPEN {
        let (call, entry) = open.swap_remove(call as usize * 7 % OPEN);
        let amounts = [call];
        let basis = Basis::Reported;
        entry.settle(&Outcome {
            end_ms: call,
            basis,
            nano_usd: call,
            amounts: &amounts,
            ..Outcome::default()
        });
        say(b's', call)?;
    }
    Ok(())
}

fn say(what: u8, call: u64) -> anyhow::Result<()> {
    let mut said = [what; 9];
    said[1..].copy_from_slice(&call.to_le_bytes());
    let mut out = std::io::stdout().lock();
    out.write_all(&said)?;
    Ok(out.flush()?)
}

fn again_and_again() -> anyhow::Result<()> {
    let rounds = env::var("TRESTLE_CRASH_ROUNDS").map_or(Ok(ROUNDS), |rounds| rounds.parse())?;
    let folder = tempfile::tempdir()?;
    let (mut lines, mut closed) = (0, 0);
    let mut counted = Counted::default();
    let mut unchecked = Vec::new();
    for round in 1..=rounds {
        unchecked.push((round, killed(folder.path(), round)?));
        // Every other time the next writer closes what is open, and may be killed while it does.
        if round % 2 == 0 || round == rounds {
            let (ledger, recovery) = open(folder.path()).with_context(|| format!("after round {round}"))?;
            closed += recovery.closed.len();
            for (of, said) in unchecked.drain(..) {
                lines += check(&ledger, of, &said).with_context(|| format!("{of}, after round {round}"))?;
            }
            counted.follow(&ledger)?;
        }
    }
    let (ledger, _) = open(folder.path())?;
    let sums = ledger.sums(&Query::default(), &[])?;
    let total: u64 = sums.iter().map(|sum| sum.reported.calls + sum.estimated.calls).sum();
    let cost: u128 = sums.iter().map(|sum| sum.reported.nano_usd + sum.estimated.nano_usd).sum();
    ensure!(total == lines && lines > 0, "{total} lines, {lines} seen");
    ensure!(counted.held == 0, "{} are held by calls that have ended", counted.held);
    ensure!(counted.used == cost, "followed to {}, but the sum is {cost}", counted.used);
    println!("killed {rounds} times: {total} lines, {closed} of them closed by a check, nothing lost");
    Ok(())
}

/// A counter that is kept by following the ledger from one position to the next.
#[derive(Default)]
struct Counted {
    position: Position,
    held: i128,
    used: u128,
}

impl Counted {
    fn follow(&mut self, ledger: &Ledger) -> anyhow::Result<()> {
        let now = ledger.sync()?;
        let skipped = ledger.replay(&self.position, &now, &mut |change| match change {
            Change::Held { charges, .. } => self.held += i128::from(charges[0].amount),
            Change::Settled { charges, amounts, .. } => {
                self.held -= i128::from(charges[0].amount);
                self.used += u128::from(amounts[0]);
            }
        })?;
        ensure!(skipped == 0, "{skipped} records could not be read");
        self.position = now.to_string().parse()?;
        Ok(())
    }
}

/// What a writer said of each call: whether it was settled.
type Said = BTreeMap<u64, bool>;

/// Starts a writer and kills it; what it said until then.
fn killed(folder: &Path, round: u64) -> anyhow::Result<Said> {
    let mut writer = Command::new(env::current_exe()?);
    writer.env("TRESTLE_CRASH_FOLDER", folder).env("TRESTLE_CRASH_ROUND", round.to_string());
    let mut writer = writer.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let mut out = writer.stdout.take().context("no output")?;
    let reader = thread::spawn(move || {
        let mut bytes = Vec::new();
        out.read_to_end(&mut bytes).map(|_| bytes)
    });
    let mut random = [0; 8];
    getrandom::fill(&mut random)?;
    thread::sleep(Duration::from_millis(u64::from_le_bytes(random) % LIFE_MS_MAX));
    writer.kill()?;
    let bytes = reader.join().map_err(|_| anyhow::anyhow!("the reader panicked"))??;
    let ended = writer.wait_with_output()?;
    ensure!(ended.status.code().is_none(), "it ended by itself: {}", String::from_utf8_lossy(&ended.stderr));
    let mut said = Said::new();
    for said_once in bytes.chunks_exact(9) {
        let call = u64::from_le_bytes(std::array::from_fn(|i| said_once[i + 1]));
        said.insert(call, said_once[0] == b's');
    }
    Ok(said)
}

/// Holds the lines of a round against what was said; how many there are.
fn check(ledger: &Ledger, round: u64, said: &Said) -> anyhow::Result<u64> {
    let query = Query { from_ms: round * ROUND, until_ms: (round + 1) * ROUND, ..Query::default() };
    let (mut lines, mut after) = (HashMap::new(), None);
    loop {
        let page = ledger.query(&query, after, 1_000)?;
        for line in page.lines {
            let call = line.call as u64;
            ensure!(lines.insert(call, (line.outcome, line.nano_usd)).is_none(), "two lines of {call}");
        }
        match page.next {
            Some(next) => after = Some(next),
            None => break,
        }
    }
    for (call, settled) in said {
        let line = lines.remove(call).with_context(|| format!("{call} was announced and is gone"))?;
        let fits = match line {
            (OutcomeKind::Ok, cost) => cost == *call,
            // What was settled was not killed.
            (OutcomeKind::Killed, cost) => !settled && cost == ESTIMATE,
            _ => false,
        };
        ensure!(fits, "{call}, settled: {settled}, is {line:?}");
    }
    // Each thread may have announced one more that it could not say.
    ensure!(lines.len() <= THREADS as usize, "nobody spoke of {lines:?}");
    Ok((said.len() + lines.len()) as u64)
}
