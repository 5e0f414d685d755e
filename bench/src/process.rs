//! A process that we started: pinned, watched, and ended by its id.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, anyhow};
use rustix::process::{Pid, Signal, kill_process};

use crate::load::pin_thread;

/// Time that a process gets to end before it is killed.
const END_MAX: Duration = Duration::from_secs(5);
/// Lines of its error output that are shown where it fails.
const ERROR_LINES: usize = 12;
/// Letters of each that are shown.
const ERROR_LINE_MAX: usize = 300;

/// A running process. It is ended when this is dropped.
#[derive(Debug)]
pub(crate) struct Process {
    child: Child,
    errors: PathBuf,
}

impl Process {
    /// Starts a process on one CPU; what it writes to its error output goes to a file in `folder`.
    pub(crate) fn start(command: &mut Command, cpu: usize, folder: &Path) -> anyhow::Result<Self> {
        Self::started(command, Some(cpu), folder)
    }

    /// The same on any CPU.
    pub(crate) fn start_anywhere(command: &mut Command, folder: &Path) -> anyhow::Result<Self> {
        Self::started(command, None, folder)
    }

    fn started(command: &mut Command, cpu: Option<usize>, folder: &Path) -> anyhow::Result<Self> {
        let program = command.get_program().to_string_lossy().into_owned();
        let name = Path::new(&program).file_name().map_or_else(|| "process".into(), ToOwned::to_owned);
        let errors = folder.join(name).with_extension(format!("{}.err", cpu.unwrap_or_default()));
        command.stderr(File::create(&errors)?).stdin(Stdio::null());
        // A child runs where the thread runs that starts it.
        let child = std::thread::scope(|scope| {
            let started = scope.spawn(|| -> anyhow::Result<Child> {
                cpu.map_or(Ok(()), pin_thread)?;
                command.spawn().with_context(|| format!("cannot start {program}"))
            });
            started.join().map_err(|_| anyhow!("starting {program} panicked"))?
        })?;
        Ok(Self { child, errors })
    }

    /// Its standard output, once.
    pub(crate) fn stdout(&mut self) -> anyhow::Result<std::process::ChildStdout> {
        self.child.stdout.take().context("its output is not captured")
    }

    /// Whether it has ended, and how.
    pub(crate) fn ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().ok().flatten()
    }

    /// Sends it a signal.
    pub(crate) fn signal(&self, signal: Signal) -> anyhow::Result<()> {
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw).context("it has no id")?;
        Ok(kill_process(pid, signal)?)
    }

    /// Waits for its end.
    pub(crate) fn wait(&mut self) -> anyhow::Result<ExitStatus> {
        Ok(self.child.wait()?)
    }

    /// The end of what it wrote to its error output.
    pub(crate) fn errors(&self) -> String {
        let text = std::fs::read_to_string(&self.errors).unwrap_or_default();
        let lines: Vec<String> =
            text.lines().map(|line| line.chars().take(ERROR_LINE_MAX).collect()).collect();
        lines[lines.len().saturating_sub(ERROR_LINES)..].join("\n")
    }

    /// Its id and those of its children.
    fn pids(&self) -> Vec<u32> {
        let own = self.child.id();
        let children =
            std::fs::read_to_string(format!("/proc/{own}/task/{own}/children")).unwrap_or_default();
        let children = children.split_whitespace().filter_map(|pid| pid.parse().ok());
        std::iter::once(own).chain(children).collect()
    }

    /// CPU time of all its threads and its children's.
    pub(crate) fn cpu(&self) -> Duration {
        let nanos = self.pids().into_iter().flat_map(|pid| {
            let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
            tasks.filter_map(|task| {
                let text = std::fs::read_to_string(task.path().join("schedstat")).ok()?;
                text.split_whitespace().next()?.parse::<u64>().ok()
            })
        });
        Duration::from_nanos(nanos.sum())
    }

    /// CPU time of the whole life of a process that has ended and was not waited for yet, to 10 ms.
    pub(crate) fn cpu_of_life(&self) -> anyhow::Result<Duration> {
        let text = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id()))?;
        let fields = text.rsplit_once(')').map_or("", |(_, fields)| fields).split_whitespace();
        // Fields 14 and 15, user and system time in ticks of 10 ms; the name was number 2.
        let ticks: u64 = fields.skip(11).take(2).filter_map(|field| field.parse::<u64>().ok()).sum();
        Ok(Duration::from_millis(ticks * 10))
    }

    /// Memory of itself and its children, in bytes.
    pub(crate) fn memory_bytes(&self) -> u64 {
        let kib = self.pids().into_iter().filter_map(|pid| {
            let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
            let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
            line.split_whitespace().next()?.parse::<u64>().ok()
        });
        kib.sum::<u64>() * 1024
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        end(&mut self.child);
    }
}

fn end(child: &mut Child) {
    if let Some(pid) = i32::try_from(child.id()).ok().and_then(Pid::from_raw)
        && matches!(child.try_wait(), Ok(None))
    {
        let _ = kill_process(pid, Signal::TERM);
    }
    let deadline = Instant::now() + END_MAX;
    while matches!(child.try_wait(), Ok(None)) {
        if Instant::now() > deadline {
            let _ = child.kill();
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}
