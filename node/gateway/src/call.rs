//! One call of a provider: announced in the ledger before it is made, settled once after it, on every path.

use crate::{
    Endpoint,
    cause::{Failed, Next},
    estimate::Estimate,
    flight::Flight,
    limits::{Scope, Spent},
    metrics::Ended,
    pick::Picked,
    record::Outcome,
};
use std::{
    cell::Cell,
    sync::Arc,
    time::{Duration, Instant, UNIX_EPOCH},
};
use trestle_catalog::{Counts, Terms, Totals, Unit};
use trestle_config::TargetConfig;
use trestle_dialect::{ir::Usage, text_bytes};
use trestle_store::{AnnounceError, Basis, Entry, Intent, OutcomeKind, Owner, Tokens};

/// Bytes of text that are a token at most: what the vendors' tokenizers do not stay below in any natural language.
const TEXT_BYTES: u64 = 3;
/// Events that are looked into for what they have beside their text; the others of a stream have as much.
const LOOKS: u32 = 4;

/// A call on its way.
pub(crate) struct Call {
    /// Its line in the ledger; none where no ledger is kept.
    entry: Option<Entry>,
    target: Arc<TargetConfig>,
    scope: Scope,
    estimate: Estimate,
    /// The service tier that was asked for.
    service_tier: Option<Box<str>>,
    /// Bytes of the request.
    bytes: u64,
    /// What the provider reported.
    usage: Option<Usage>,
    /// What that costs, where it is not to be reckoned of it: results of a batch, each with its own model.
    nano_usd: Option<u64>,
    /// Its status, once it has answered.
    status: u16,
    /// The request has gone out, at least in part.
    sent: bool,
    /// Its head is waited for since then, from the begin of the request on.
    waiting: Option<Duration>,
    relayed: Relayed,
}

/// How a call ended, for its span.
pub(crate) struct Ending {
    /// The provider's status; 0 without an answer.
    pub(crate) status: u16,
    /// Why it failed, if it did.
    pub(crate) cause: Option<&'static str>,
    /// What the provider reported.
    pub(crate) usage: Option<Usage>,
}

/// What of an answer was passed on.
#[derive(Debug, Clone, Copy, Default)]
struct Relayed {
    /// Content events.
    events: u64,
    /// Their bytes.
    bytes: u64,
    /// The least that an event had beside its text, of those that were looked into; nothing before the first.
    beside: Option<u64>,
    /// How many were looked into.
    seen: u32,
    /// No report of usage has counted them all.
    unreported: bool,
}

/// What is about to be called.
pub(crate) struct Calling<'a> {
    /// The target.
    pub(crate) target: &'a Arc<TargetConfig>,
    /// Its place in the plan.
    pub(crate) scope: Scope,
    /// The key.
    pub(crate) picked: &'a Picked,
    /// What it may come to.
    pub(crate) estimate: Estimate,
    /// Bytes of the request.
    pub(crate) bytes: u64,
    /// The service tier that is asked for.
    pub(crate) service_tier: Option<&'a str>,
}

impl Relayed {
    /// Never below what was relayed: each event is a token at least, or as many as its text can be.
    fn tokens(&self) -> u64 {
        let beside = self.beside.unwrap_or(0).saturating_mul(self.events);
        self.bytes.saturating_sub(beside).div_ceil(TEXT_BYTES).max(self.events)
    }

    /// Content that is passed on. The data of an event is read only for the first few.
    fn add(&mut self, raw: usize, data: Option<&[u8]>) {
        self.events += 1;
        self.bytes += raw as u64;
        self.unreported = true;
        if self.seen < LOOKS
            && let Some(text) = data.and_then(text_bytes)
        {
            let beside = raw.saturating_sub(text) as u64;
            self.seen += 1;
            self.beside = Some(self.beside.map_or(beside, |least| least.min(beside)));
        }
    }
}

/// A request that goes out. However that ends, be it that all is dropped, its call knows whether it has.
pub(crate) struct Sending<'f> {
    flight: &'f mut Flight,
    /// A connection has it.
    pub(crate) begun: Cell<bool>,
}

impl<'f> Sending<'f> {
    /// Of the call that runs.
    pub(crate) fn new(flight: &'f mut Flight) -> Self {
        Self { flight, begun: Cell::new(false) }
    }
}

impl Drop for Sending<'_> {
    fn drop(&mut self) {
        if self.begun.get() {
            self.flight.call_sent();
        }
    }
}

impl Flight {
    /// Announces a call. One that is open still has ended well: a target may be called several times for one answer.
    pub(crate) fn begin_call(&mut self, calling: Calling<'_>) -> Result<(), Failed> {
        self.end_call(OutcomeKind::Ok, None);
        let Calling { target, scope, picked, estimate, bytes, service_tier } = calling;
        self.record.calls += 1;
        let entry = self.announce(target, scope, picked, (&estimate, service_tier));
        let entry = entry.map_err(|error| Failed::new("ledger_full", Next::Stop, error))?;
        self.call = Some(Call {
            entry,
            target: Arc::clone(target),
            scope,
            estimate,
            service_tier: service_tier.map(Into::into),
            bytes,
            usage: None,
            nano_usd: None,
            status: 0,
            sent: false,
            waiting: None,
            relayed: Relayed::default(),
        });
        Ok(())
    }

    fn announce(
        &self,
        target: &TargetConfig,
        scope: Scope,
        picked: &Picked,
        (estimate, service_tier): (&Estimate, Option<&str>),
    ) -> Result<Option<Entry>, AnnounceError> {
        let Some(journal) = self.worker.journal() else { return Ok(None) };
        let caller = self.record.caller.as_deref();
        let name = |name: &dyn Fn(&trestle_config::Caller) -> Option<&str>| {
            caller.and_then(name).unwrap_or_default()
        };
        let ahead = Spent::from(estimate.ahead());
        let charges = self.account.charges(scope, &ahead);
        let id = self.record.id_hex();
        let entry = journal.announce(&Intent {
            call: self.worker.random(),
            request_id: std::str::from_utf8(&id).unwrap_or_default(),
            attempt: self.record.calls,
            start_ms: self.now_ms(),
            owner: Owner {
                customer: name(&|caller| caller.customer.as_deref()),
                team: name(&|caller| caller.team.as_deref()),
                user: name(&|caller| caller.user.as_deref()),
                key: name(&|caller| Some(&caller.name)),
            },
            tags: caller.map(|caller| &*caller.tags).unwrap_or_default(),
            model: &self.record.model,
            provider: &target.provider.name,
            credential: &picked.credential.name,
            vendor_model: &target.model,
            operation: self.record.endpoint.name(),
            batch: matches!(self.record.endpoint, Endpoint::Stored(_, act) if act.is_content()),
            service_tier: service_tier.unwrap_or_default(),
            price_version: target.known.as_ref().map_or(0, |known| known.price_version),
            tokens: Tokens { input: ahead.input, output: ahead.output, ..Tokens::default() },
            nano_usd: ahead.nano_usd,
            charges: &charges,
        })?;
        Ok(Some(entry))
    }

    /// The request goes out: from here on it may cost something.
    pub(crate) fn call_sent(&mut self) {
        if let Some(call) = &mut self.call {
            call.sent = true;
        }
    }

    /// The call is about to be sent; when.
    pub(crate) fn call_goes(&mut self) -> Instant {
        let now = Instant::now();
        let Some(call) = &mut self.call else { return now };
        let ran = now.duration_since(self.started);
        call.waiting = Some(ran);
        if let Some(noted) = &mut self.record.noted {
            noted.call(&call.target, ran, &self.worker);
        }
        now
    }

    /// The head of its answer is there; it went at that time.
    pub(crate) fn call_heard(&mut self, went: Instant) {
        let took = went.elapsed();
        let ran = went.duration_since(self.started) + took;
        self.record.upstream = Some(took);
        self.record.marks.answered = Some(ran);
        self.record.marks.waited += took;
        if let Some(call) = &mut self.call {
            call.waiting = None;
        }
        if let Some(noted) = &mut self.record.noted {
            noted.answered(ran);
        }
    }

    /// The provider has answered with this status.
    pub(crate) fn call_answered(&mut self, status: u16) {
        if let Some(call) = &mut self.call {
            call.status = status;
        }
    }

    /// An event with content is passed on: all of its bytes, and its data.
    pub(crate) fn relayed(&mut self, raw: usize, data: Option<&[u8]>) {
        if let Some(call) = &mut self.call {
            call.relayed.add(raw, data);
        }
    }

    /// What the provider reports of the call that runs.
    pub(crate) fn call_usage(&mut self, usage: Usage) {
        if let Some(call) = &mut self.call {
            call.usage = Some(call.usage.unwrap_or_default().merge(usage));
        }
    }

    /// What it reports within a stream, of all that came before. Some report once before any content: that is no end.
    pub(crate) fn call_usage_so_far(&mut self, usage: Usage) {
        if let Some(call) = &mut self.call {
            let counts_up = usage.output > call.usage.unwrap_or_default().output;
            call.relayed.unreported = call.relayed.events == 0 || (call.relayed.unreported && !counts_up);
        }
        self.call_usage(usage);
    }

    /// What the requests of a batch used, by the model that answered. It counts the first time that its results pass.
    pub(crate) fn batch(&mut self, used: Vec<(String, Usage)>) {
        if used.is_empty() || !self.account.count() {
            return;
        }
        let Some(call) = &mut self.call else { return };
        let (provider, snapshot) = (&call.target.provider, self.worker.snapshot());
        let terms = Terms { service: Some("batch"), variant: None };
        let (mut nano_usd, mut all) = (0_u64, Usage::default());
        for (model, usage) in used {
            if let Some(known) = snapshot.catalog.find(&provider.vendor, &model) {
                nano_usd = nano_usd
                    .saturating_add(known.price.cost_on(&terms, &counts(self.record.endpoint, &usage)));
            }
            all = all.plus(usage);
        }
        call.nano_usd = Some(nano_usd);
        self.usage(all);
    }

    /// Ends the call that runs, if one does: its line is written, its limits are told.
    /// `cause` is why it failed, if it did.
    pub(crate) fn end_call(&mut self, kind: OutcomeKind, cause: Option<&'static str>) {
        let Some(mut call) = self.call.take() else { return };
        let ended = if kind == OutcomeKind::Ok { Ended::Well } else { Ended::Otherwise };
        let seat = self.worker.seat();
        self.counted = Some(seat.shard.called(self.record.endpoint.name(), &call.target, ended));
        let (basis, counts) = call.came_to(self.record.endpoint, kind);
        let terms = Terms { service: call.service_tier.as_deref(), variant: None };
        let reckoned = || call.target.known.as_ref().map_or(0, |known| known.price.cost_on(&terms, &counts));
        let nano_usd = call.nano_usd.unwrap_or_else(reckoned);
        let (input, output) = sides(&counts);
        let spent = Spent { input, output, nano_usd };
        if basis == Basis::Reported && (input, output) != (0, 0) {
            let local = self.worker.provider(&call.target.provider.name);
            local.learned.note(&call.target.model, call.bytes, (input, output));
        }
        self.record.nano_usd = Some(self.record.nano_usd.unwrap_or(0).saturating_add(nano_usd));
        self.record.estimated |= basis == Basis::Estimated;
        let amounts = self.account.spend(call.scope, &spent);
        let ran = self.started.elapsed();
        self.record.marks.waited += call.waiting.map_or(Duration::ZERO, |since| ran.saturating_sub(since));
        if let Some(noted) = &mut self.record.noted {
            noted.ended(ran, &Ending { status: call.status, cause, usage: call.usage });
        }
        let end_ms = self.ms_after(ran);
        if let Some(entry) = call.entry.take() {
            entry.settle(&trestle_store::Outcome {
                end_ms,
                kind,
                status: call.status,
                basis,
                tokens: tokens(&counts, call.usage.unwrap_or_default()),
                nano_usd,
                service_tier: "",
                amounts: &amounts,
            });
        }
    }

    /// Ends the call that runs as one that failed.
    pub(crate) fn fail_call(&mut self, failed: &Failed) {
        self.end_call(kind_of_failure(failed), Some(failed.cause));
        // It is no answer that the client gets.
        self.record.marks.answered = None;
    }

    /// Now (unix milliseconds), by the clock at the begin of the request and how long it has run.
    pub(crate) fn now_ms(&self) -> u64 {
        self.ms_after(self.started.elapsed())
    }

    fn ms_after(&self, ran: Duration) -> u64 {
        let at = self.record.at.duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO) + ran;
        at.as_millis() as u64
    }
}

impl Call {
    /// What it came to: as reported, else by what went out and what came back.
    fn came_to(&self, endpoint: Endpoint, kind: OutcomeKind) -> (Basis, Counts) {
        if let Some(usage) = &self.usage {
            // The report at the begin of a stream knows nothing of what followed.
            if kind != OutcomeKind::Ok && self.relayed.unreported {
                let output = usage.output.max(self.relayed());
                return (Basis::Estimated, counts(endpoint, &Usage { output, ..*usage }));
            }
            return (Basis::Reported, counts(endpoint, usage));
        }
        // An error of the provider costs nothing, nor does what never went out.
        let refused = self.status >= 400;
        if refused || !self.sent {
            return (if refused { Basis::Reported } else { Basis::Estimated }, Counts::default());
        }
        if self.estimate.tokens == Ok((0, 0)) {
            return (Basis::Reported, Counts::default());
        }
        let likely = self.estimate.likely;
        let output = match kind {
            OutcomeKind::Ok => likely.output.max(self.relayed()),
            _ => self.relayed(),
        };
        let usage = Usage { input: likely.input, output, ..Usage::default() };
        (Basis::Estimated, counts(endpoint, &usage))
    }

    /// Tokens that were passed on, never more than were held for.
    fn relayed(&self) -> u64 {
        self.relayed.tokens().min(self.estimate.tokens.map_or(u64::MAX, |(_, output)| output))
    }
}

/// How a request ended, as the end of its last call.
pub(crate) fn kind_of(outcome: Outcome) -> OutcomeKind {
    match outcome {
        Outcome::Cancelled => OutcomeKind::Cancelled,
        Outcome::Ok => OutcomeKind::Ok,
        Outcome::Refused(_) => OutcomeKind::Stopped,
        Outcome::Fault(_) => OutcomeKind::ClientError,
        Outcome::Broken(_) => OutcomeKind::Broken,
        Outcome::Panic => OutcomeKind::Panicked,
    }
}

fn kind_of_failure(failed: &Failed) -> OutcomeKind {
    if failed.cause.ends_with("_timeout") {
        return OutcomeKind::Timeout;
    }
    match failed.next {
        Next::Stop => OutcomeKind::ClientError,
        _ => match failed.fault.as_ref().map(|fault| fault.status) {
            Some(400..=428 | 430..=499) => OutcomeKind::ClientError,
            _ => OutcomeKind::ProviderError,
        },
    }
}

/// What is priced of a usage.
pub(crate) fn counts(endpoint: Endpoint, usage: &Usage) -> Counts {
    let totals = Totals {
        input: usage.input,
        cached: usage.cache_read,
        cache_write: usage.cache_write,
        cache_write_1h: usage.cache_write_1h,
        audio_input: usage.audio_input,
        output: usage.output,
        reasoning: usage.reasoning,
        audio_output: usage.audio_output,
    };
    let counts = Counts::from(totals);
    // Pictures are parts of the totals, too.
    let part = |counts: Counts, whole: Unit, part: Unit, of: u64| {
        let of = of.min(counts.get(whole));
        counts.with(whole, counts.get(whole) - of).with(part, of)
    };
    let counts = part(counts, Unit::Input, Unit::ImageInput, usage.image_input);
    let counts = part(counts, Unit::Output, Unit::ImageOutput, usage.image_output);
    let counts = counts
        .with(Unit::PerRequest, 1)
        .with(Unit::PerImage, usage.images)
        .with(Unit::PerAudioSecondInput, usage.audio_ms.div_ceil(1000))
        .with(Unit::PerCharacter, usage.characters);
    match endpoint {
        Endpoint::Pass(trestle_provider::Operation::Rerank) => counts.with(Unit::PerQuery, 1),
        _ => counts,
    }
}

/// Input and output tokens.
fn sides(counts: &Counts) -> (u64, u64) {
    let output = counts.used().filter(|(unit, _)| unit.is_tokens() && !unit.is_input_tokens());
    (counts.input_tokens(), output.fold(0, |sum, (_, count)| sum.saturating_add(count)))
}

fn tokens(counts: &Counts, usage: Usage) -> Tokens {
    Tokens {
        input: counts.get(Unit::Input),
        cached_read: counts.get(Unit::Cached) + counts.get(Unit::AudioCached),
        cache_write_5m: counts.get(Unit::CacheWrite),
        cache_write_1h: counts.get(Unit::CacheWrite1h),
        output: counts.get(Unit::Output),
        reasoning: counts.get(Unit::Reasoning),
        audio_in: counts.get(Unit::AudioInput),
        audio_out: counts.get(Unit::AudioOutput),
        image_in: counts.get(Unit::ImageInput),
        image_out: counts.get(Unit::ImageOutput),
        images: usage.images,
        audio_ms: usage.audio_ms,
        characters: usage.characters,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_relayed_is_never_estimated_below() {
        let check = |texts: &[&str], tokens: u64| {
            let mut relayed = Relayed::default();
            for text in texts {
                let data = format!(
                    r#"{{"id":"chatcmpl-1234567890","choices":[{{"delta":{{"content":"{text}"}}}}]}}"#
                );
                relayed.add(data.len() + 8, Some(data.as_bytes()));
            }
            let estimated = relayed.tokens();
            assert!((tokens..=tokens.saturating_mul(2)).contains(&estimated), "{texts:?}: {estimated}");
        };
        check(&["Hello", ",", " how", " are", " you", " today", "?"], 7);
        check(&["The quick brown fox jumps over the lazy dog.", " And again: The quick brown fox jumps"], 18);
        check(&["今天天气很好。", "我们去公园吧。"], 14);
        check(&[], 0);
    }

    #[test]
    fn usage_is_taken_apart_for_its_price() {
        let usage = Usage {
            input: 100,
            cache_read: 40,
            image_input: 10,
            output: 30,
            reasoning: 5,
            image_output: 8,
            images: 2,
            audio_ms: 1_001,
            ..Usage::default()
        };
        let counts = counts(Endpoint::Generate(trestle_dialect::Dialect::OpenAiChat), &usage);
        let expected = [
            (Unit::Input, 50),
            (Unit::Cached, 40),
            (Unit::ImageInput, 10),
            (Unit::Output, 17),
            (Unit::Reasoning, 5),
            (Unit::ImageOutput, 8),
            (Unit::PerImage, 2),
            (Unit::PerAudioSecondInput, 2),
            (Unit::PerRequest, 1),
            (Unit::PerQuery, 0),
        ];
        for (unit, count) in expected {
            assert_eq!(counts.get(unit), count, "{unit:?}");
        }
        assert_eq!(sides(&counts), (100, 30));
    }
}
