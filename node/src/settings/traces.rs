//! The settings of what is traced.

use super::Layers;
use trestle_gateway::{Ratio, Sampling, Stage};

/// Without a word of it a tenth is enough to see how requests go, and costs little.
const SAMPLE: f64 = 0.1;

/// Which requests are traced, and how closely.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Traces {
    /// Which.
    pub(crate) sampling: Sampling,
    /// Stages that have spans.
    pub(crate) stages: Vec<Stage>,
}

/// The stages that can have spans: that of waiting for upstreams is in the calls of attempts.
const WITH_SPANS: [Stage; 4] = [Stage::Receive, Stage::Route, Stage::Attempt, Stage::Relay];

impl Layers {
    /// Told only where there is a collector.
    pub(super) fn traces(&mut self) -> Traces {
        let sampling = Sampling {
            parent: self.parse("traces.parent", "must be true or false").unwrap_or(true),
            ratio: self.ratio(),
            errors: self.parse("traces.errors", "must be true or false").unwrap_or(true),
        };
        let included = self.stages("traces.include");
        let excluded = self.stages("traces.exclude").unwrap_or_default();
        let is_wanted = |stage: &Stage| {
            included.as_ref().is_none_or(|included| included.contains(stage)) && !excluded.contains(stage)
        };
        Traces { sampling, stages: WITH_SPANS.into_iter().filter(is_wanted).collect() }
    }

    fn ratio(&mut self) -> Ratio {
        let wanted = "must be a share from 0 to 1, such as 0.1";
        let share = self.parse("traces.sample", wanted).unwrap_or(SAMPLE);
        Ratio::new(share).unwrap_or_else(|| {
            self.refuse("traces.sample", &format!("is {share}, {wanted}"));
            Ratio::NONE
        })
    }

    fn stages(&mut self, member: &'static str) -> Option<Vec<Stage>> {
        let (text, _) = self.values.get(member)?;
        let text = text.clone();
        let mut stages = Vec::new();
        for word in text.split(',').map(str::trim).filter(|word| !word.is_empty()) {
            match WITH_SPANS.into_iter().find(|stage| stage.name() == word) {
                Some(stage) => stages.push(stage),
                None => {
                    let known = WITH_SPANS.map(Stage::name).join(", ");
                    self.refuse(
                        member,
                        &format!("has `{word}`, must be stages of {known}, separated by commas"),
                    );
                }
            }
        }
        Some(stages)
    }
}
