//! What would be done with a request, without doing it: who asks, which targets and why, and what each would not be told.

use crate::{
    Gateway, Headers, RequestLine,
    authenticate::authenticate,
    foresee::{Foreseen, foresee},
    pick::pick,
    prepare::prepare,
    receive::Ask,
    route,
    worker::Worker,
};
use bytes::Bytes;
use http::HeaderMap;
use std::{rc::Rc, sync::Arc};
use tokio::sync::oneshot;
use trestle_config::{Caller, ResolvedTarget, Snapshot, Strategy, TargetConfig};
use trestle_dialect::Refusal;

/// A request that is not made.
#[derive(Debug)]
pub struct Question {
    /// Where it would go.
    pub line: RequestLine,
    /// Its headers.
    pub headers: HeaderMap,
    /// Its body.
    pub body: Bytes,
    /// The name of the key that it would come with; `None` for the one in the headers.
    pub key: Option<String>,
}

/// What would be done.
#[derive(Debug, Default)]
pub struct Explanation {
    /// The revision that says so.
    pub revision: u64,
    /// The name of the caller's key.
    pub caller: Option<String>,
    /// The model that is asked for.
    pub model: Option<String>,
    /// The group that it names.
    pub group: Option<String>,
    /// All targets that were thought of: first those that are tried, in the order of this draw.
    pub candidates: Vec<Candidate>,
    /// Why there would be no answer: status, kind and message.
    pub refusal: Option<(u16, &'static str, String)>,
}

/// A target that was thought of.
#[derive(Debug)]
pub struct Candidate {
    /// `provider/model`.
    pub target: String,
    /// How it came in.
    pub because: Because,
    /// The part of requests for which it is the first, from 0 to 1.
    pub first_share: f64,
    /// Why it would not be tried; `None` if it would.
    pub skipped: Option<String>,
    /// The dialect that it would be asked in.
    pub dialect: Option<&'static str>,
    /// What of the request it would not be told.
    pub dropped: Vec<String>,
    /// What it would cost there, where that is known.
    pub cost: Option<Foreseen>,
}

/// How a target came in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Because {
    /// The client asked for it.
    Asked,
    /// It is a target of the group.
    Target,
    /// The group falls back to it.
    Fallback,
    /// The client named it as a fallback.
    Named,
}

impl Gateway {
    /// Says what would be done with a request. `None` if the gateway has been stopped.
    pub async fn explain(&self, question: Question) -> Option<Explanation> {
        let (tell, told) = oneshot::channel();
        // What a target cannot be told is known where requests are prepared: on a data thread.
        self.spawn(move |worker| async move {
            let _ = tell.send(explain(&worker, question));
        });
        told.await.ok()
    }
}

fn explain(worker: &Rc<Worker>, question: Question) -> Explanation {
    let snapshot = worker.snapshot();
    let mut made = Explanation { revision: snapshot.revision, ..Explanation::default() };
    if let Err(refusal) = fill(worker, &snapshot, question, &mut made) {
        made.refusal = Some((refusal.kind.status(), refusal.kind.name(), refusal.message.to_string()));
    }
    made
}

fn fill(
    worker: &Rc<Worker>,
    snapshot: &Snapshot,
    question: Question,
    made: &mut Explanation,
) -> Result<(), Refusal> {
    let headers = Headers::Map(question.headers);
    let caller = match &question.key {
        Some(name) => Some(by_name(snapshot, name)?),
        None => authenticate(snapshot, &headers, question.line.key.as_deref())?,
    };
    made.caller = caller.as_ref().map(|caller| caller.name.to_string());
    let held = worker.budget().share();
    let mut ask = Ask::read(question.line, headers, question.body, held)?;
    ask.strict |= caller.as_ref().is_some_and(|caller| caller.strict);
    made.model = Some(ask.model.clone());
    let resolved = snapshot.resolve(&ask.model);
    let group = match &resolved {
        Some(ResolvedTarget::Group(group)) => Some(Arc::clone(group)),
        _ => None,
    };
    made.group = group.as_ref().map(|group| group.name.to_string());
    let planned = route::plan(snapshot, caller.as_deref(), &mut ask, &mut || worker.chance());
    let plan = planned.as_deref().unwrap_or_default();
    let because = |target: &TargetConfig| match &group {
        Some(group) if group.targets.iter().any(|other| other.name == target.name) => Because::Target,
        Some(group) if ask.fallbacks.is_none() && group.fallbacks.iter().any(|o| o.name == target.name) => {
            Because::Fallback
        }
        None if plan.first().is_some_and(|first| first.name == target.name) => Because::Asked,
        _ => Because::Named,
    };
    for target in plan {
        let mut candidate = Candidate::new(target, because(target));
        let mut only = None;
        match prepare(&ask, target, &worker.provider(&target.provider.name)) {
            Ok(prepared) => {
                candidate.dialect = Some(prepared.dialect.name());
                candidate.cost = foresee(&ask, target, &prepared);
                only = prepared.pinned;
                candidate.dropped = prepared.dropped;
            }
            Err(failed) => candidate.skipped = Some(failed.message.to_string()),
        }
        let local = worker.provider(&target.provider.name);
        // A key that is left out for a while may be back when the request comes.
        if let Err(failed) = pick(&target.provider, &local, 0.0, ask.only_key(only.as_ref()))
            && failed.cause != "rate_limited"
        {
            candidate.skipped = Some(failed.message);
        }
        made.candidates.push(candidate);
    }
    let fallbacks = group.iter().filter(|_| ask.fallbacks.is_none()).flat_map(|group| &group.fallbacks);
    for target in group.iter().flat_map(|group| &group.targets).chain(fallbacks) {
        if !made.candidates.iter().any(|candidate| candidate.target == *target.name) {
            let allowed = caller.as_ref().is_none_or(|caller| {
                caller.grants.allow(group.as_ref().map(|group| &*group.name), &target.name)
            });
            let why = if allowed {
                format!("only {} targets are tried (`attempts_max`)", snapshot.settings.attempts_max)
            } else {
                "this key may not use it".to_owned()
            };
            made.candidates.push(Candidate { skipped: Some(why), ..Candidate::new(target, because(target)) });
        }
    }
    share(group.as_deref(), &mut made.candidates);
    planned.map(|_| ())
}

fn by_name(snapshot: &Snapshot, name: &str) -> Result<Arc<Caller>, Refusal> {
    let caller = snapshot.callers.named(name);
    caller.map(Arc::clone).ok_or_else(|| {
        Refusal::invalid("key", format!("there is no key `{name}`, or its secret cannot be had on this node"))
    })
}

/// How often each is the first: by weight among the group's targets that may be used, else always the same.
fn share(group: Option<&trestle_config::Group>, candidates: &mut [Candidate]) {
    let weighted = group.filter(|group| group.strategy == Strategy::Weighted);
    let Some(group) = weighted else {
        if let Some(first) = candidates.first_mut() {
            first.first_share = 1.0;
        }
        return;
    };
    let weight_of = |candidate: &Candidate| {
        let target = group.targets.iter().find(|target| *target.name == candidate.target);
        let can = candidate.because == Because::Target && candidate.skipped.is_none();
        target.filter(|_| can).map_or(0.0, |target| f64::from(target.weight))
    };
    let sum: f64 = candidates.iter().map(weight_of).sum();
    for candidate in candidates {
        candidate.first_share = if sum > 0.0 { weight_of(candidate) / sum } else { 0.0 };
    }
}

impl Candidate {
    fn new(target: &TargetConfig, because: Because) -> Self {
        Self {
            target: target.name.to_string(),
            because,
            first_share: 0.0,
            skipped: None,
            dialect: None,
            dropped: Vec::new(),
            cost: None,
        }
    }
}
