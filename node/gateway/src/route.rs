//! A model name becomes a plan: the targets to try, in order. Pure; chance comes in as an argument.

use crate::{
    Endpoint,
    kept::{Pin, elsewhere, pin, stored},
    receive::Ask,
};
use smallvec::SmallVec;
use std::sync::Arc;
use trestle_config::{Caller, Group, ResolvedTarget, Snapshot, Strategy, TargetConfig};
use trestle_dialect::{Refusal, RefusalKind};

/// The targets to try, in order; never empty, at most `attempts_max`.
pub(crate) type Plan = SmallVec<[Arc<TargetConfig>; 2]>;

/// Makes the plan for a request. One that goes on with what a provider keeps has one target.
pub(crate) fn plan(
    snapshot: &Snapshot,
    caller: Option<&Caller>,
    ask: &mut Ask,
    chance: &mut dyn FnMut() -> f64,
) -> Result<Plan, Refusal> {
    if let Endpoint::Stored(stored, act) = ask.endpoint {
        return stored::plan(snapshot, caller, ask, (stored, act));
    }
    pin(snapshot, caller, ask)?;
    match &ask.pin {
        Some(pin) => pinned(snapshot, caller, (&ask.model, pin), chance),
        None => {
            let asked = (&*ask.model, ask.fallbacks.as_deref());
            let (plan, left_out) = route(snapshot, caller, asked, chance)?;
            ask.left_out = left_out;
            Ok(plan)
        }
    }
}

/// Makes the plan for a model that a limit sends a request to.
pub(crate) fn of_model(
    snapshot: &Snapshot,
    caller: Option<&Caller>,
    model: &str,
    chance: &mut dyn FnMut() -> f64,
) -> Result<Plan, Refusal> {
    route(snapshot, caller, (model, None), chance).map(|(plan, _)| plan)
}

/// The one target of a model at the provider that a request is pinned to, wherever in a group it stands.
fn pinned(
    snapshot: &Snapshot,
    caller: Option<&Caller>,
    (model, pin): (&str, &Pin),
    chance: &mut dyn FnMut() -> f64,
) -> Result<Plan, Refusal> {
    let mut draft = Draft { only: Some(&pin.provider.name), ..Draft::new(caller) };
    draft.add(&resolve(snapshot, model, "model")?, true, chance);
    draft.plan.truncate(1);
    match &draft.refused {
        _ if !draft.plan.is_empty() => Ok(draft.plan),
        Some(refused) => Err(forbidden("model", refused)),
        None => Err(elsewhere(pin)),
    }
}

/// Makes the plan for a model name and the fallbacks that the client named, and says what is not in it. Those replace the
/// fallbacks of a group; its targets stay.
fn route(
    snapshot: &Snapshot,
    caller: Option<&Caller>,
    (model, fallbacks): (&str, Option<&[String]>),
    chance: &mut dyn FnMut() -> f64,
) -> Result<(Plan, Vec<LeftOut>), Refusal> {
    let mut draft = Draft::new(caller);
    let resolved = resolve(snapshot, model, "model")?;
    draft.add(&resolved, fallbacks.is_none(), chance);
    // A group is used as far as the caller may; what the caller names itself must be allowed.
    if draft.plan.is_empty() {
        return Err(forbidden("model", draft.refused.as_deref().unwrap_or(model)));
    }
    for (index, name) in fallbacks.unwrap_or_default().iter().enumerate() {
        let param = format!("fallbacks[{index}]");
        let resolved = resolve(snapshot, name, &param)?;
        draft.refused = None;
        draft.add(&resolved, false, chance);
        if let Some(refused) = &draft.refused {
            return Err(forbidden(&param, refused));
        }
    }
    let most = snapshot.settings.attempts_max as usize;
    for target in draft.plan.drain(most.min(draft.plan.len())..) {
        draft.left_out.push(LeftOut { target, why: "beyond `attempts_max`" });
    }
    Ok((draft.plan, draft.left_out))
}

fn forbidden(param: &str, target: &str) -> Refusal {
    let message = format!("this key may not use `{target}`");
    Refusal { param: Some(param.to_owned()), ..Refusal::new(RefusalKind::Forbidden, message) }
}

fn resolve(snapshot: &Snapshot, name: &str, param: &str) -> Result<ResolvedTarget, Refusal> {
    snapshot.resolve(name).ok_or_else(|| {
        let shown: String = name.chars().take(128).collect();
        Refusal {
            param: Some(param.to_owned()),
            ..Refusal::new(
                RefusalKind::NotFound,
                format!("there is no model `{shown}` here: ask for a name that /v1/models lists, or `provider/model`"),
            )
        }
    })
}

/// A target that is not in a plan.
#[derive(Debug, Clone)]
pub(crate) struct LeftOut {
    /// Which.
    pub(crate) target: Arc<TargetConfig>,
    /// Why.
    pub(crate) why: &'static str,
}

struct Draft<'a> {
    caller: Option<&'a Caller>,
    /// The one provider whose targets are meant.
    only: Option<&'a str>,
    plan: Plan,
    left_out: Vec<LeftOut>,
    refused: Option<Box<str>>,
}

impl<'a> Draft<'a> {
    fn new(caller: Option<&'a Caller>) -> Self {
        Self { caller, only: None, plan: Plan::new(), left_out: Vec::new(), refused: None }
    }

    fn add(&mut self, resolved: &ResolvedTarget, with_fallbacks: bool, chance: &mut dyn FnMut() -> f64) {
        match resolved {
            ResolvedTarget::Target(target) => self.push(None, target),
            ResolvedTarget::Group(group) => {
                for target in ordered(group, chance) {
                    self.push(Some(&group.name), target);
                }
                let fallbacks = if with_fallbacks { &group.fallbacks[..] } else { &[] };
                for target in fallbacks {
                    self.push(Some(&group.name), target);
                }
            }
        }
    }

    fn push(&mut self, group: Option<&str>, target: &Arc<TargetConfig>) {
        if self.only.is_some_and(|only| *target.provider.name != *only) {
            return;
        }
        let allows = |caller: &Caller| {
            caller.grants.allow(group, &target.name) && caller.allows_provider(&target.provider.name)
        };
        if !self.caller.is_none_or(allows) {
            self.refused.get_or_insert_with(|| target.name.clone());
            self.left_out.push(LeftOut { target: Arc::clone(target), why: "this key may not use it" });
            return;
        }
        if !self.plan.iter().any(|planned| planned.name == target.name) {
            self.plan.push(Arc::clone(target));
        }
    }
}

/// The targets of a group in the order of this request. Weighted: drawn one after the other without putting back.
fn ordered<'g>(group: &'g Group, chance: &mut dyn FnMut() -> f64) -> Vec<&'g Arc<TargetConfig>> {
    let mut left: Vec<_> = group.targets.iter().collect();
    if group.strategy == Strategy::Ordered || left.len() < 2 {
        return left;
    }
    let mut drawn = Vec::with_capacity(left.len());
    while !left.is_empty() {
        let sum: u64 = left.iter().map(|target| u64::from(target.weight)).sum();
        let mut at = chance() * sum as f64;
        let index = left.iter().position(|target| {
            at -= f64::from(target.weight);
            at < 0.0
        });
        drawn.push(left.remove(index.unwrap_or(0)));
    }
    drawn
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::HostSecrets;
    use std::collections::HashMap;

    const DOCUMENT: &str = "
providers:
  a: { base_url: 'http://a', dialects: [openai-chat], auth: none }
  b: { base_url: 'http://b', dialects: [openai-chat], auth: none }
models:
  fixed: { strategy: ordered, targets: [{ model: a/1 }, { model: b/2 }], fallbacks: [b/3] }
  drawn: { strategy: weighted, targets: [{ model: a/1, weight: 80 }, { model: b/2, weight: 20 }, { model: b/0, weight: 0 }] }
keys:
  some: { value: 'sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad', models: ['b/*'] }
settings: { attempts_max: 3 }
";

    fn snapshot() -> Snapshot {
        let document = trestle_config::parse(DOCUMENT).unwrap();
        trestle_config::compile(&document, 1, &HostSecrets).unwrap().snapshot
    }

    fn names(plan: &Plan) -> Vec<&str> {
        plan.iter().map(|target| &*target.name).collect()
    }

    fn check(model: &str, fallbacks: Option<&[&str]>, expected: Result<&[&str], RefusalKind>) {
        let fallbacks: Option<Vec<String>> = fallbacks.map(|f| f.iter().map(ToString::to_string).collect());
        let plan = route(&snapshot(), None, (model, fallbacks.as_deref()), &mut || 0.0);
        let found = plan.as_ref().map(|(plan, _)| names(plan)).map_err(|refusal| refusal.kind);
        assert_eq!(found, expected.map(<[_]>::to_vec), "{model}");
    }

    #[test]
    fn plans_follow_the_document_and_the_request() {
        check("fixed", None, Ok(&["a/1", "b/2", "b/3"]));
        check("fixed", Some(&["b/9"]), Ok(&["a/1", "b/2", "b/9"]));
        check("fixed", Some(&[]), Ok(&["a/1", "b/2"]));
        check("a/x/y:z", None, Ok(&["a/x/y:z"]));
        check("a/1", Some(&["fixed"]), Ok(&["a/1", "b/2"]));
        check("b/8", Some(&["b/7", "b/6", "b/5", "b/4"]), Ok(&["b/8", "b/7", "b/6"]));
        check("c/1", None, Err(RefusalKind::NotFound));
        check("a/1", Some(&["nobody"]), Err(RefusalKind::NotFound));
    }

    #[test]
    fn what_a_caller_may_not_use_is_not_in_its_plan() {
        let snapshot = snapshot();
        let caller = snapshot.callers.iter().next().unwrap();
        let ask = |model, fallbacks: Option<&[String]>| {
            let plan = route(&snapshot, Some(caller), (model, fallbacks), &mut || 0.0);
            plan.map(|(plan, _)| names(&plan).join(" ")).map_err(|refusal| refusal.kind)
        };
        assert_eq!(ask("fixed", None).as_deref(), Ok("b/2 b/3"));
        assert_eq!(ask("a/1", None), Err(RefusalKind::Forbidden));
        assert_eq!(ask("b/1", Some(&["a/1".to_owned()])), Err(RefusalKind::Forbidden));
    }

    #[test]
    fn draws_follow_the_weights() {
        let snapshot = snapshot();
        let (mut firsts, mut state) = (HashMap::new(), 0.0);
        for _ in 0..1_000 {
            let mut chance = || {
                state = (state + 0.618_033_988_749_895) % 1.0;
                state
            };
            let (plan, _) = route(&snapshot, None, ("drawn", None), &mut chance).unwrap();
            assert_eq!(plan.len(), 3);
            *firsts.entry(plan[0].name.clone()).or_insert(0) += 1;
        }
        assert!((700..900).contains(&firsts["a/1"]), "{firsts:?}");
        assert!(!firsts.contains_key("b/0"), "{firsts:?}");
    }
}
