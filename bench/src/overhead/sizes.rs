//! What a request costs by the size of its body: from 1 KB to 10 MB, passed on and translated.

use std::fmt::Write as _;

use serde::Serialize;

use super::cases::{Baseline, Case, chat};
use super::command::Plan;
use super::spread::Spread;
use super::stage::Stage;
use super::turns;
use crate::load::Prompt;

/// Bytes of the prompt's text.
const SIZES: [usize; 5] = [1_000, 10_000, 100_000, 1_000_000, 10_000_000];
/// Fewer connections for large bodies, because all are in memory at once, and more time.
const LARGE: usize = 500_000;
const LARGE_TIMES: u32 = 3;

/// One size.
#[derive(Debug, Serialize)]
pub(super) struct Size {
    bytes: usize,
    nginx_us: Spread,
    passed_us: Spread,
    translated_us: Spread,
}

/// Runs nginx, the gateway passing on and the gateway translating, for each size in turn.
pub(super) fn measure(stage: &Stage, plan: Plan) -> anyhow::Result<Vec<Size>> {
    let mut sizes = Vec::new();
    for bytes in SIZES {
        eprintln!("sizes: {bytes} bytes");
        let (connections, time) =
            if bytes > LARGE { (4, plan.time() * LARGE_TIMES) } else { (32, plan.time()) };
        let prompt = |model| Prompt { model, bytes, ..chat().prompt };
        let case =
            |model| Case { prompt: prompt(model), connections, baseline: Baseline::BigBody, ..*chat() };
        let (passed, translated) = (case("chat"), case("claude"));
        let mut micros = [Vec::new(), Vec::new(), Vec::new()];
        for _ in 0..plan.rounds {
            let runs = [(&stage.nginx, &passed), (&stage.gateway, &passed), (&stage.gateway, &translated)];
            for (all, (side, case)) in micros.iter_mut().zip(runs) {
                all.push(turns::one(side, case, time)?.micros);
            }
        }
        let [nginx_us, passed_us, translated_us] = micros.map(Spread::of);
        sizes.push(Size { bytes, nginx_us, passed_us, translated_us });
    }
    Ok(sizes)
}

/// The table: CPU of a request, and what of it falls on each KB.
pub(super) fn table(sizes: &[Size]) -> String {
    let mut out = "\nCPU of a request by its size, us (us for each KB)\n".to_owned();
    let _ = writeln!(out, "{:>10} {:>20} {:>20} {:>20}", "bytes", "nginx", "passed on", "translated");
    for size in sizes {
        let _ = write!(out, "{:10}", size.bytes);
        for micros in [size.nginx_us.median, size.passed_us.median, size.translated_us.median] {
            let each = micros / (size.bytes as f64 / 1000.0);
            let _ = write!(out, " {:>20}", format!("{micros:.0} ({each:.2})"));
        }
        out.push('\n');
    }
    out
}
