//! A model name becomes a plan: the targets to try, in order. Pure; chance comes in as an argument.

use std::sync::Arc;
use trestle_config::{Caller, Group, ResolvedTarget, Snapshot, Strategy, TargetConfig};
use trestle_dialect::{Refusal, RefusalKind};

/// The targets to try, in order; never empty, at most `attempts_max`.
pub(crate) type Plan = Vec<Arc<TargetConfig>>;

/// Makes the plan for a model name and the fallbacks that the client named. Those replace the fallbacks of a group;
/// its targets stay.
pub(crate) fn route(
    snapshot: &Snapshot,
    caller: Option<&Caller>,
    (model, fallbacks): (&str, Option<&[String]>),
    chance: &mut dyn FnMut() -> f64,
) -> Result<Plan, Refusal> {
    let mut draft = Draft { caller, plan: Vec::new(), refused: None };
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
    draft.plan.truncate(snapshot.settings.attempts_max as usize);
    Ok(draft.plan)
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

struct Draft<'a> {
    caller: Option<&'a Caller>,
    plan: Plan,
    refused: Option<Box<str>>,
}

impl Draft<'_> {
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
        if !self.caller.is_none_or(|caller| caller.grants.allow(group, &target.name)) {
            self.refused.get_or_insert_with(|| target.name.clone());
            return;
        }
        if !self.plan.iter().any(|planned| Arc::ptr_eq(planned, target)) {
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
