//! Walks the plan: for each target prepare, wait for a slot, send, classify; next key, again, next target or stop.

use crate::{
    Act, Endpoint,
    admit::OfRequest,
    budget::Held,
    call::Sending,
    cause::{Failed, Next},
    embed::Embeds,
    estimate::Estimate,
    fetch::Fetch,
    flight::Flight,
    kept::stored,
    limits::Scope,
    mock,
    pick::{Picked, pick},
    prepare::{self, Prepared},
    receive::Ask,
    reserve::{Change, NotReserved},
    state::{self, Slot},
    tail::Tail,
    take::{Won, joined},
    timer::{Expired, Timer},
    upstream::{self, Head, Incoming, Outgoing, Source},
    worker::ProviderLocal,
};
use bytes::Bytes;
use http::uri::PathAndQuery;
use std::{
    pin::pin,
    rc::Rc,
    sync::Arc,
    time::{Duration, Instant},
};
use trestle_config::{ProviderKind, RetryPolicy, Settings, TargetConfig};
use trestle_dialect::{Attempt, Category, Dialect, Refusal, outbound};
use trestle_provider::Provider;

/// An error body is read up to this size.
pub(crate) const FAULT_BYTES_MAX: usize = 64 * 1024;

/// The end of a walk.
pub(crate) enum Walked {
    /// A target answers. What was dropped on the way there.
    Won(Won, Vec<String>),
    /// The client's own body cannot be sent on.
    Refused(Box<Refusal>),
    /// Limits let the request go on if it changes; from that place in the plan.
    Change(Change, usize),
    /// None did; the failure that says most to the client, and the dialect of the target it came from.
    Lost(Box<Failed>, Option<Dialect>),
}

/// One walk over a plan.
pub(crate) struct Walk<'a> {
    /// The request.
    pub(crate) ask: &'a Ask,
    /// Its record.
    pub(crate) flight: &'a mut Flight,
    /// Its limits in time.
    pub(crate) timer: &'a mut Timer,
    /// Its bounds.
    pub(crate) settings: &'a Settings,
    /// The limits that count for it wherever it goes.
    pub(crate) limits: &'a OfRequest,
    /// How often it has changed.
    pub(crate) round: u32,
    /// Bytes of media that were fetched for it.
    pub(crate) fetched: Option<Held>,
}

/// A target and what is known about it for this request.
pub(crate) struct Target<'a> {
    /// Which.
    pub(crate) config: &'a Arc<TargetConfig>,
    /// Its provider as this thread knows it.
    pub(crate) local: Rc<ProviderLocal>,
    /// What is sent to it.
    pub(crate) prepared: Prepared,
    /// Its place in the plan.
    pub(crate) scope: Scope,
    /// What a call of it may come to.
    pub(crate) estimate: Estimate,
    last: bool,
}

impl<'a> Target<'a> {
    fn new(
        config: &'a Arc<TargetConfig>,
        (local, prepared): (Rc<ProviderLocal>, Prepared),
        (scope, last): (Scope, bool),
    ) -> Self {
        Self { config, local, prepared, scope, estimate: Estimate::NOTHING, last }
    }
}

impl Walk<'_> {
    /// Walks the plan to its first answer.
    pub(crate) async fn walk(&mut self, plan: &[Arc<TargetConfig>], from: usize) -> Walked {
        let mut lost: Option<(Failed, Option<Dialect>)> = None;
        for (index, config) in plan.iter().enumerate().skip(from) {
            self.flight.record.target = Some(Arc::clone(config));
            let begun = Instant::now();
            self.flight.walked(begun);
            let local = self.flight.worker.provider(&config.provider.name);
            self.fetch(config).await;
            let (mut failed, dialect) = match prepare::prepare(self.ask, config, &local) {
                Err(failed) => {
                    self.note(config, &failed, begun.elapsed());
                    (failed, None)
                }
                Ok(prepared) => {
                    let dialect = prepared.dialect;
                    let scope = Scope::Provider(self.round, index as u32);
                    let last = index + 1 == plan.len();
                    let mut target = Target::new(config, (local, prepared), (scope, last));
                    let tried = match self.reserve(&mut target) {
                        Ok(()) => self.try_target(&mut target).await,
                        Err(NotReserved::Failed(failed)) => {
                            self.note(config, &failed, begun.elapsed());
                            Err(failed.into())
                        }
                        Err(change) => Err(change),
                    };
                    match tried {
                        Ok(won) => return Walked::Won(won, target.prepared.dropped),
                        Err(NotReserved::Change(change)) => return Walked::Change(change, index),
                        Err(NotReserved::Failed(failed)) => {
                            self.flight.account.leave(scope);
                            (failed, Some(dialect))
                        }
                    }
                }
            };
            if let Some(refusal) = self.ask.tail().and_then(Tail::refusal) {
                return Walked::Refused(Box::new(refusal));
            }
            // What has gone of a body and is not held cannot be sent to others.
            let gone = !self.ask.can_repeat();
            if gone {
                failed.message.push_str(" (the body was on its way, and is too large to be sent again)");
            }
            let stop = failed.next == Next::Stop || gone;
            // The last word is the latest failure, but a passing one is not talked over by a lasting one.
            let keep =
                lost.as_ref().is_some_and(|(before, _)| before.is_passing() && !failed.is_passing() && !stop);
            if !keep {
                lost = Some((failed, dialect));
            }
            if stop {
                break;
            }
        }
        let (failed, dialect) =
            lost.unwrap_or_else(|| (Failed::new("no_target", Next::Stop, "there is no target"), None));
        Walked::Lost(Box::new(failed), dialect)
    }

    /// Gets what the target cannot be told by URL, once for all targets.
    async fn fetch(&mut self, config: &TargetConfig) {
        let Some(codec) = prepare::translator(self.ask, config) else { return };
        if !self.settings.fetch_media
            || self.ask.has_fetched()
            || !self.ask.must_fetch(codec).unwrap_or(false)
        {
            return;
        }
        let Ok(request) = self.ask.decoded() else { return };
        let worker = Rc::clone(&self.flight.worker);
        let held = self.fetched.get_or_insert_with(|| worker.budget().share());
        let fetch = Fetch { worker: &worker, settings: self.settings, held };
        // Boxed: few requests need it, and all would be as large.
        let inlined = Box::pin(fetch.inline(request)).await;
        self.ask.keep(inlined);
    }

    pub(crate) fn note(&mut self, config: &TargetConfig, failed: &Failed, time: Duration) {
        let status = failed.fault.as_ref().map(|fault| fault.status);
        self.flight.failed(Attempt { target: config.name.clone(), status, cause: failed.cause, time });
    }

    /// Tries one target until it answers or there is no point in trying on.
    async fn try_target(&mut self, target: &mut Target<'_>) -> Result<Won, NotReserved> {
        let retries = target.config.retries;
        let (mut again, mut before) = (0, None);
        // Bounded: each round either uses up one of the retries, benches a key, learns a quirk once, or leaves.
        loop {
            let begun = Instant::now();
            if let Some(failed) = before.take() {
                self.reserve_again(target, failed)?;
            }
            let picked = self.pick(target);
            let tried = match &picked {
                Ok(picked) => self.call(target, picked).await,
                Err(failed) => Err(failed.clone()),
            };
            let failed = match tried {
                Ok(won) => return Ok(won),
                Err(failed) => failed,
            };
            self.flight.fail_call(&failed);
            if self.ask.tail().is_some_and(|tail| tail.refusal().is_some()) {
                return Err(failed.into());
            }
            self.note(target.config, &failed, begun.elapsed());
            if let (Next::OtherKey(bench), Ok(picked)) = (failed.next, &picked) {
                picked.leave_out(&failed, bench, &target.local);
            }
            if !self.ask.can_repeat() {
                return Err(failed.into());
            }
            if learn(self.ask, target, &failed) {
                target.prepared = prepare::prepare(self.ask, target.config, &target.local)?;
                before = Some(failed);
                continue;
            }
            let backoff = backoff(&retries, again, self.flight.worker.chance());
            let pause = match failed.next {
                Next::Stop | Next::Onward => return Err(failed.into()),
                Next::Again if may_be_made(self.ask, &failed) => return Err(failed.into()),
                Next::OtherKey(bench) => {
                    if target.prepared.pinned.is_some() {
                        // Without what only the key could read that is left out now.
                        target.prepared = prepare::prepare(self.ask, target.config, &target.local)?;
                    }
                    match self.pick(target) {
                        Ok(_) => {
                            before = Some(failed);
                            continue;
                        }
                        // All keys are out: others first; the last target is worth a short wait.
                        Err(_) if target.last && failed.cause == "rate_limited" => bench,
                        Err(other) if other.next == Next::Again => backoff,
                        Err(_) => return Err(failed.into()),
                    }
                }
                Next::Again => failed.retry_after.unwrap_or(backoff),
            };
            if again >= retries.max || pause > retries.backoff_max || pause >= self.timer.left() {
                return Err(failed.into());
            }
            again += 1;
            tokio::time::sleep(pause).await;
            before = Some(failed);
        }
    }

    /// A key that can be used. What is still being fetched is waited for only where there is no other target.
    fn pick(&self, target: &Target<'_>) -> Result<Picked, Failed> {
        let mut picked = pick(
            &target.config.provider,
            &target.local,
            self.flight.worker.chance(),
            self.ask.only_key(target.prepared.pinned.as_ref()),
        );
        if let Err(failed) = &mut picked
            && failed.cause == "credentials_pending"
            && target.last
        {
            failed.next = Next::Again;
        }
        picked
    }

    /// One attempt, to the answer or to the reason why there is none.
    async fn call(&mut self, target: &Target<'_>, picked: &Picked) -> Result<Won, Failed> {
        if let Some(Embeds { ours, theirs, translated: true }) = target.prepared.embeds {
            // Boxed: few requests need it, and all would be as large.
            return Box::pin(self.embed(target, picked, (ours, theirs))).await;
        }
        if self.ask.endpoint == Endpoint::Realtime {
            return Box::pin(self.dial(target, picked)).await;
        }
        let (head, body) = self.reach(target, picked, &target.prepared.body).await?;
        self.answer(target, picked, (head, body)).await
    }

    /// One call, to the head of a success.
    pub(crate) async fn reach(
        &mut self,
        target: &Target<'_>,
        picked: &Picked,
        body: &Outgoing,
    ) -> Result<(Head, Incoming), Failed> {
        let provider = &target.config.provider;
        let slot = slot(self.timer, target.config, &target.local).await?;
        self.timer.stage(target.config.times.first_token);
        self.begin_call(target, picked, body.held())?;
        let sent = self.flight.call_goes();
        let (head, source) = match &provider.kind {
            ProviderKind::Mock(_) if !matches!(self.ask.endpoint, Endpoint::Generate(_)) => {
                return Err(self.not_offered(target));
            }
            ProviderKind::Mock(settings) => {
                let asked = self.ask.decoded().map_err(Failed::unreadable)?;
                let mut answering =
                    Box::pin(mock::answer(settings, asked, (&target.config.model, target.prepared.dialect)));
                self.flight.call_sent();
                self.timer.within(answering.as_mut()).await.map_err(timed_out)?
            }
            ProviderKind::Remote(remote) => {
                let path = self.path(target, remote.as_ref())?;
                let request = prepare::request(
                    (self.ask, &target.prepared, body),
                    provider,
                    (remote.as_ref(), path),
                    picked,
                    self.flight.record.noted.as_deref(),
                )?;
                let going = Sending::new(self.flight);
                let origin = (remote.origin(), &**provider);
                let sending = pin!(upstream::send(&target.local.pool, origin, &request, &going.begun));
                let limit = target.config.times.first_token;
                self.timer.within_but(sending, limit, || body.is_moving()).await.map_err(timed_out)??
            }
        };
        self.flight.call_heard(sent);
        self.open(target, head, (source, slot)).await
    }

    /// Where the target has what is asked of it.
    pub(crate) fn path(&self, target: &Target<'_>, remote: &dyn Provider) -> Result<PathAndQuery, Failed> {
        let path = remote.endpoint(target.prepared.operation, &target.config.model);
        path.and_then(|path| stored::path(self.ask, path)).ok_or_else(|| self.not_offered(target))
    }

    fn not_offered(&self, target: &Target<'_>) -> Failed {
        let (name, what) = (&target.config.provider.name, self.ask.endpoint.name());
        Failed::new("unsupported", Next::Onward, format!("the provider {name} does not offer {what}"))
    }

    /// A success goes on with its body, anything else is a failure.
    pub(crate) async fn open(
        &mut self,
        target: &Target<'_>,
        head: Head,
        (source, slot): (Source, Slot),
    ) -> Result<(Head, Incoming), Failed> {
        self.flight.call_answered(head.status.as_u16());
        let mut body = Incoming::new(source, head.encoding, self.settings.body_bytes_max, slot)?;
        if !head.status.is_success() {
            let (parts, _, _held) = self.collect(&mut body, FAULT_BYTES_MAX).await?;
            let body = with_our_id(self.ask, joined(parts));
            let mut fault = outbound(target.prepared.dialect).decode_fault(head.status.as_u16(), &body);
            if let Some(kind) = &head.error_type {
                fault = fault.with_type(kind);
            }
            if let ProviderKind::Remote(remote) = &target.config.provider.kind {
                remote.classify(&mut fault);
            }
            return Err(Failed::fault(fault, head.retry_after));
        }
        Ok((head, body))
    }
}

/// A slot of the provider, within the time to the first token.
pub(crate) async fn slot(
    timer: &mut Timer,
    target: &TargetConfig,
    local: &ProviderLocal,
) -> Result<Slot, Failed> {
    let provider = &target.provider;
    timer.stage(target.times.first_token);
    match timer.within(pin!(state::acquire(&local.state, provider.concurrency, provider.queue))).await {
        Ok(Ok(slot)) => Ok(slot),
        Ok(Err(state::QueueFull)) => {
            let message = format!("the queue of the provider {} is full", provider.name);
            Err(Failed::new("queue_full", Next::Onward, message))
        }
        Err(expired) => Err(timed_out(expired)),
    }
}

/// The pause before another attempt; `chance` is from 0 up to and without 1.
pub(crate) fn backoff(retries: &RetryPolicy, again: u32, chance: f64) -> Duration {
    let doubled = retries.backoff.saturating_mul(1 << again.min(16));
    doubled.min(retries.backoff_max).mul_f64(0.5 + chance / 2.0)
}

/// An error that names what the client knows by another id.
fn with_our_id(ask: &Ask, body: Bytes) -> Bytes {
    match (&ask.pin, std::str::from_utf8(&body)) {
        (Some(pin), Ok(text)) if !pin.theirs.is_empty() => text.replace(&pin.theirs, &pin.ours).into(),
        _ => body,
    }
}

/// Whether something may have been made although the call failed: to call again might make it twice.
fn may_be_made(ask: &Ask, failed: &Failed) -> bool {
    matches!(ask.endpoint, Endpoint::Stored(_, Act::Create))
        && !failed.cause.starts_with("connect_")
        && failed.cause != "overloaded"
}

pub(crate) fn timed_out(expired: Expired) -> Failed {
    match expired {
        Expired::Stage => Failed::first_token_timeout(),
        Expired::Total => Failed::total_timeout(),
    }
}

/// A model that refuses `max_tokens` is remembered, and tried once more with the other name.
fn learn(ask: &Ask, target: &Target<'_>, failed: &Failed) -> bool {
    let Some(fault) = &failed.fault else { return false };
    fault.category == Category::UnsupportedParameter
        && fault.param.as_deref() == Some("max_tokens")
        && target.prepared.dialect == Dialect::OpenAiChat
        && matches!(ask.endpoint, Endpoint::Generate(_))
        && target.local.state.learn_max_completion_tokens(&target.config.model)
}
