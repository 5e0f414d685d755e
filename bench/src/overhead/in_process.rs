//! The gateway embedded in a program that sends chats through it, without a listener.

use std::io::Read as _;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, ensure};
use serde::{Deserialize, Serialize};

use super::cases::chat;
use super::command::Plan;
use super::spread::Spread;
use super::stage::{PROXY_CPU, Stage};
use super::turns;
use crate::process::Process;

/// What the program prints.
#[derive(Deserialize)]
struct Printed {
    requests: u64,
}

/// CPU of a request in process, beside nginx's in turns.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct InProcess {
    pub(super) micros: Spread,
    pub(super) ratio: Spread,
}

/// Runs nginx and the program in turns.
pub(super) fn measure(stage: &Stage, program: &Path, plan: Plan) -> anyhow::Result<InProcess> {
    eprintln!("in-process: {}", program.display());
    let (mut micros, mut ratios) = (Vec::new(), Vec::new());
    for _ in 0..plan.rounds {
        let nginx = turns::one(&stage.nginx, chat(), plan.time())?.micros;
        let ours = once(stage, program, plan)?;
        micros.push(ours);
        ratios.push(ours / nginx);
    }
    Ok(InProcess { micros: Spread::of(micros), ratio: Spread::of(ratios) })
}

fn once(stage: &Stage, program: &Path, plan: Plan) -> anyhow::Result<f64> {
    let mut command = Command::new(program);
    command.arg(format!("http://{}", stage.upstream)).arg(plan.secs.to_string()).stdout(Stdio::piped());
    let mut process = Process::start(&mut command, PROXY_CPU, &stage.folder.0)?;
    let mut text = String::new();
    process.stdout()?.read_to_string(&mut text)?;
    // Its output has ended, so it is about to; it is not waited for, so its times can still be read.
    std::thread::sleep(std::time::Duration::from_millis(100));
    let cpu = process.cpu_of_life()?;
    let printed: Printed = serde_json::from_str(text.trim())
        .with_context(|| format!("it must print {{\"requests\":N}}, not {text:?}\n{}", process.errors()))?;
    let good = process.ended().is_some_and(|status| status.success());
    ensure!(good && printed.requests > 0, "{} failed\n{}", program.display(), process.errors());
    Ok(cpu.as_secs_f64() * 1e6 / printed.requests as f64)
}
