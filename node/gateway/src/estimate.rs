//! What a call may come to, before it is made: a true worst case for strict limits, what is likely for soft ones.

use crate::{Act, Endpoint, receive::Ask};
use std::{cell::RefCell, collections::HashMap};
use trestle_catalog::{Counts, Model, Price, Terms, Unit};
use trestle_config::{Limit, Measure, Mode, TargetConfig};
use trestle_dialect::{OutputBound, Stored, Word, ir::Features, may_need, output_bound};
use trestle_provider::Operation;

/// A token for so many bytes of a body, where nothing was learned yet: what English text and JSON come to.
const TOKEN_BYTES: u64 = 4;
/// Tokens of an answer, where nothing was learned yet.
const ANSWER_TOKENS: u64 = 512;
/// Models that are learned about, for each provider and thread; others are taken by the constants above.
const LEARNED_MAX: usize = 1024;

/// Tokens and money.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Amounts {
    /// Input tokens.
    pub(crate) input: u64,
    /// Output tokens, of all answers.
    pub(crate) output: u64,
    /// What they cost.
    pub(crate) nano_usd: u64,
}

/// Why no worst case is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unbounded {
    /// The catalog does not say how much the model takes or gives.
    Length,
    /// The catalog does not say what it costs.
    Price,
    /// What is charged for such a call is told by its answer alone.
    Operation,
}

/// What a call may come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Estimate {
    /// No answer uses more tokens.
    pub(crate) tokens: Result<(u64, u64), Unbounded>,
    /// No answer costs more, in nano-USD.
    pub(crate) nano_usd: Result<u64, Unbounded>,
    /// What it will come to in most cases.
    pub(crate) likely: Amounts,
    /// A strict limit counts it.
    pub(crate) strict: bool,
}

impl Estimate {
    /// Of what nothing is known before its answer.
    pub(crate) const UNKNOWN: Self = Self {
        tokens: Err(Unbounded::Operation),
        nano_usd: Err(Unbounded::Operation),
        likely: Amounts { input: 0, output: 0, nano_usd: 0 },
        strict: false,
    };
    /// Of what costs nothing.
    pub(crate) const NOTHING: Self = Self {
        tokens: Ok((0, 0)),
        nano_usd: Ok(0),
        likely: Amounts { input: 0, output: 0, nano_usd: 0 },
        strict: false,
    };
}

impl Estimate {
    /// What is told ahead, and charged should the process die before the call ends: as nobody knows then what it came to, all
    /// that it could where a limit is strict.
    pub(crate) fn ahead(&self) -> Amounts {
        match (self.tokens, self.nano_usd) {
            (Ok((input, output)), Ok(nano_usd)) if self.strict => Amounts { input, output, nano_usd },
            _ => self.likely,
        }
    }

    /// A part of it, for one of several calls.
    #[must_use]
    pub(crate) fn part(self, calls: u64) -> Self {
        let part = |amount: u64| amount.div_ceil(calls.max(1));
        let Amounts { input, output, nano_usd } = self.likely;
        Self {
            tokens: self.tokens.map(|(input, output)| (part(input), part(output))),
            nano_usd: self.nano_usd.map(part),
            likely: Amounts { input: part(input), output: part(output), nano_usd: part(nano_usd) },
            strict: self.strict,
        }
    }
}

impl Unbounded {
    /// How it is told, and mended.
    pub(crate) const fn why(self) -> &'static str {
        match self {
            Self::Length => {
                "how much the model takes and gives is not known: say `context_max` and `output_max` in `catalog`"
            }
            Self::Price => "what the model costs is not known: say its price in `catalog`",
            Self::Operation => "what such a call costs is told by its answer alone",
        }
    }
}

/// What requests to the models of a provider came to, on one thread.
#[derive(Debug, Default)]
pub(crate) struct Learned(RefCell<HashMap<Box<str>, Habit>>);

/// High percentiles, followed by small steps: nine of ten requests stay below.
#[derive(Debug, Clone, Copy)]
struct Habit {
    tokens_per_kb: f64,
    answer: f64,
}

impl Learned {
    /// Takes note of what a call came to.
    pub(crate) fn note(&self, model: &str, bytes: u64, (input, output): (u64, u64)) {
        let mut all = self.0.borrow_mut();
        if !all.contains_key(model) {
            if all.len() >= LEARNED_MAX {
                return;
            }
            all.insert(model.into(), Habit::first());
        }
        let Some(habit) = all.get_mut(model) else { return };
        if bytes > 0 && input > 0 {
            follow(&mut habit.tokens_per_kb, input as f64 * 1024.0 / bytes as f64);
        }
        if output > 0 {
            follow(&mut habit.answer, output as f64);
        }
    }

    fn of(&self, model: &str) -> Habit {
        self.0.borrow().get(model).copied().unwrap_or_else(Habit::first)
    }
}

impl Habit {
    fn first() -> Self {
        Self { tokens_per_kb: 1024.0 / TOKEN_BYTES as f64, answer: ANSWER_TOKENS as f64 }
    }
}

/// One step of a percentile: up by 9 parts where a value is above, down by 1 part where it is below, so that it rests
/// where nine of ten are below. Parts are of the percentile itself, so that it gets anywhere soon.
fn follow(percentile: &mut f64, value: f64) {
    const PART: f64 = 0.01;
    let step = *percentile * PART;
    *percentile = (if value > *percentile { *percentile + 9.0 * step } else { *percentile - step }).max(1.0);
}

/// Whether anybody asks for the most that a call can cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Most {
    /// A strict limit does.
    Wanted,
    /// Nobody.
    Unasked,
}

/// What a call to the target may come to; `bytes` is the length of the body that would be sent.
pub(crate) fn estimate(
    ask: &Ask,
    target: &TargetConfig,
    (bytes, most): (u64, Most),
    learned: &Learned,
) -> Estimate {
    let known = target.known.as_deref();
    let habit = learned.of(&target.model);
    let bound = match ask.endpoint {
        Endpoint::Generate(dialect) => output_bound(dialect, &ask.envelope),
        _ => OutputBound { choices: 1, ..OutputBound::default() },
    };
    let tokens = tokens(ask, known, bytes, &bound);
    let terms = Terms { service: ask.service_tier(), variant: None };
    let input = ((bytes as f64 * habit.tokens_per_kb / 1024.0) as u64).min(tokens.map_or(u64::MAX, |t| t.0));
    let answer = if generates(ask) { (habit.answer as u64).saturating_mul(bound.choices) } else { 0 };
    let output = answer.min(tokens.map_or(u64::MAX, |t| t.1));
    let likely =
        Counts::default().with(Unit::PerRequest, 1).with(Unit::Input, input).with(Unit::Output, output);
    let cost = known.map_or(0, |known| known.price.cost_on(&terms, &likely));
    Estimate {
        tokens,
        nano_usd: match most {
            Most::Wanted => tokens.and_then(|tokens| dearest(ask, known, tokens, &terms)),
            Most::Unasked => Err(Unbounded::Price),
        },
        likely: Amounts { input, output, nano_usd: cost },
        strict: most == Most::Wanted,
    }
}

/// How many tokens an answer may have at most for a call to come to no more than `room` in the unit of a limit; `None`
/// where it would be fewer than can be asked for.
pub(crate) fn tokens_within(
    ask: &Ask,
    target: &TargetConfig,
    estimate: &Estimate,
    (limit, room): (&Limit, u64),
) -> Option<u64> {
    let Endpoint::Generate(dialect) = ask.endpoint else { return None };
    let bound = output_bound(dialect, &ask.envelope);
    let input = match limit.mode {
        Mode::Strict => estimate.tokens.ok()?.0,
        Mode::Soft => estimate.likely.input,
    };
    let most = match limit.measure {
        Measure::OutputTokens => room,
        Measure::Tokens => room.checked_sub(input)?,
        Measure::NanoUsd => {
            let terms = Terms { service: ask.service_tier(), variant: None };
            let known = target.known.as_deref();
            let cost = |output| dearest(ask, known, (input, output), &terms).ok();
            // What a million tokens of output cost on top, since one may cost less than can be told.
            let base = cost(0)?;
            let million = cost(1_000_000)?.checked_sub(base).filter(|million| *million > 0)?;
            let tokens = u128::from(room.checked_sub(base)?) * 1_000_000 / u128::from(million);
            u64::try_from(tokens).unwrap_or(u64::MAX)
        }
        Measure::Requests | Measure::Concurrent | Measure::InputTokens => return None,
    };
    let most = most / bound.choices;
    (most >= bound.tokens_min && bound.tokens.is_none_or(|now| most < now)).then_some(most)
}

fn generates(ask: &Ask) -> bool {
    matches!(ask.endpoint, Endpoint::Generate(_) | Endpoint::Pass(Operation::Completions))
}

/// The most tokens: a token is at least a byte of what is sent, and no request is longer than the model's context.
fn tokens(
    ask: &Ask,
    known: Option<&Model>,
    bytes: u64,
    bound: &OutputBound,
) -> Result<(u64, u64), Unbounded> {
    match ask.endpoint {
        Endpoint::Embed(_) => return Ok((bytes, 0)),
        // Only what a batch or an answer comes to is charged, when it is made.
        Endpoint::Stored(stored, act) if act != Act::Create || stored == Stored::File => return Ok((0, 0)),
        Endpoint::Models(_) | Endpoint::Usage(_) => return Ok((0, 0)),
        Endpoint::Pass(operation) if is_free(operation) => return Ok((0, 0)),
        Endpoint::Pass(Operation::Rerank) => return Ok((bytes, 0)),
        Endpoint::Generate(_) => {}
        _ => return Err(Unbounded::Operation),
    }
    let context = known.and_then(|known| known.context_max);
    // What is not text, and what lies elsewhere, may be more tokens than bytes.
    let input = if is_more_than_text(ask) { context } else { Some(bytes.min(context.unwrap_or(bytes))) };
    let output = bound.tokens.into_iter().chain(known.and_then(|known| known.output_max)).min();
    let (input, output) = (input.ok_or(Unbounded::Length)?, output.ok_or(Unbounded::Length)?);
    Ok((input, output.saturating_mul(bound.choices)))
}

/// What vendors charge nothing for.
const fn is_free(operation: Operation) -> bool {
    matches!(
        operation,
        Operation::Moderations
            | Operation::CountTokens
            | Operation::GeminiCountTokens
            | Operation::ResponseTokens
    )
}

fn is_more_than_text(ask: &Ask) -> bool {
    let media = Features::IMAGES
        .with(Features::TOOL_RESULT_IMAGES)
        .with(Features::DOCUMENTS)
        .with(Features::AUDIO)
        .with(Features::VIDEO)
        .with(Features::SERVER_TOOLS);
    ask.pin.is_some() || ask.envelope.may_have(Word::FileId) || may_need(&ask.envelope, media)
}

/// The most that so many tokens can cost: each at the dearest rate that may apply to it.
fn dearest(
    ask: &Ask,
    known: Option<&Model>,
    (input, output): (u64, u64),
    terms: &Terms<'_>,
) -> Result<u64, Unbounded> {
    if (input, output) == (0, 0) {
        return Ok(0);
    }
    let price = known.map(|known| &known.price).filter(|price| !price.is_empty()).ok_or(Unbounded::Price)?;
    let needs = |features| may_need(&ask.envelope, features);
    let mut inputs = vec![Unit::Input];
    if ask.envelope.may_have(Word::Cache) {
        inputs.extend([Unit::CacheWrite, Unit::CacheWrite1h, Unit::CacheWrite12h]);
    }
    if needs(Features::AUDIO) {
        inputs.push(Unit::AudioInput);
    }
    if needs(Features::IMAGES.with(Features::DOCUMENTS)) {
        inputs.push(Unit::ImageInput);
    }
    if needs(Features::VIDEO) {
        inputs.push(Unit::VideoInput);
    }
    let mut outputs = vec![Unit::Output, Unit::Reasoning];
    if needs(Features::AUDIO_OUTPUT) {
        outputs.push(Unit::AudioOutput);
    }
    if needs(Features::IMAGE_OUTPUT) {
        outputs.push(Unit::ImageOutput);
    }
    let mut counts = Counts::default().with(Unit::PerRequest, 1);
    if ask.endpoint == Endpoint::Pass(Operation::Rerank) {
        counts = counts.with(Unit::PerQuery, 1);
    }
    for (units, tokens) in [(inputs, input), (outputs, output)] {
        let rate = |unit: &Unit| price.charged(*unit, terms, input).map_or(0, |(_, rate)| rate);
        let Some(unit) = units.into_iter().max_by_key(rate).filter(|_| tokens > 0) else { continue };
        // What a model is charged for by other things than tokens has no rate of them.
        if price.charged(unit, terms, input).is_none() && !is_free_of_tokens(price) {
            return Err(Unbounded::Price);
        }
        counts = counts.with(unit, tokens);
    }
    Ok(price.cost_on(terms, &counts))
}

/// Whether only calls and queries are charged.
fn is_free_of_tokens(price: &Price) -> bool {
    price.rates.iter().all(|(unit, _)| matches!(unit, Unit::PerRequest | Unit::PerQuery))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_rests_where_nine_of_ten_are_below() {
        let learned = Learned::default();
        let mut above = 0;
        let mut seed = 1_u64;
        for round in 0..20_000 {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let output = 100 + (seed >> 33) % 900;
            if round > 2_000 {
                above += u32::from(output as f64 > learned.of("m").answer);
            }
            learned.note("m", 4096, (1024, output));
        }
        assert!((1_000..2_600).contains(&above), "{above} of 18,000 were above");
        assert!((200.0..300.0).contains(&learned.of("m").tokens_per_kb), "{:?}", learned.of("m"));
    }

    #[test]
    fn no_more_models_are_learned_about_than_there_is_room() {
        let learned = Learned::default();
        for model in 0..LEARNED_MAX + 10 {
            learned.note(&model.to_string(), 1024, (1, 9999));
        }
        assert_eq!(learned.0.borrow().len(), LEARNED_MAX);
        assert!((learned.of("x").answer - ANSWER_TOKENS as f64).abs() < f64::EPSILON);
    }
}
