//! Entries of one name become a group, their accounts providers.

use super::{
    Draft, NOTATION,
    deployment::{Account, Deployment},
};
use crate::{
    ModelGroup, TargetEntry,
    import::{
        account,
        check::{self, Parts},
        limit,
        report::{Place, Report},
        secret,
    },
};
use std::collections::{BTreeMap, BTreeSet};
use trestle_provider::{Auth, listed};

impl Draft {
    pub(super) fn groups(&mut self, deployments: Vec<Deployment>, report: &mut Report) {
        let (wild, named): (Vec<_>, Vec<_>) = deployments.into_iter().partition(|d| d.name.contains('*'));
        let mut groups = BTreeMap::<String, Vec<Deployment>>::new();
        for deployment in named {
            groups.entry(deployment.name.clone()).or_default().push(deployment);
        }
        // First those whose names clients ask for, as `NAME/...`.
        let wanted: BTreeSet<String> = wild.iter().filter_map(wild_head).map(str::to_owned).collect();
        for deployment in wild {
            self.wildcard(deployment, report);
        }
        // A provider of the name that stands before the slash would be hidden by the group.
        let heads = groups.iter().filter(|(name, group)| !is_direct(name, group));
        let heads: Vec<_> = heads.filter_map(|(name, _)| Some(name.split_once('/')?.0.to_owned())).collect();
        for head in heads.iter().filter(|head| !wanted.contains(*head)) {
            self.providers.reserve(head);
        }
        for (name, group) in groups {
            self.group(name, group, report);
        }
    }

    /// Any model of an account.
    fn wildcard(&mut self, deployment: Deployment, report: &mut Report) {
        let place = deployment.place.clone();
        let head = wild_head(&deployment).map(str::to_owned);
        let wanted = head.as_deref().unwrap_or(deployment.account.vendor);
        let Some(provider) = self.account(&deployment, wanted, report) else { return };
        left_out(&deployment.bounds, report);
        if head.as_deref() != Some(&provider) {
            report.note(
                &place.member("model_name"),
                format!(
                    "is a pattern, which names in `models` cannot be; clients ask for `{provider}/MODEL`"
                ),
            );
        }
        if !deployment.is_plain() {
            report.note(
                &place.member("litellm_params"),
                format!("has settings that are left out; limits can be set in the provider `{provider}`"),
            );
        }
    }

    fn group(&mut self, name: String, group: Vec<Deployment>, report: &mut Report) {
        let Some(place) = group.first().map(|deployment| deployment.place.clone()) else { return };
        let direct = is_direct(&name, &group);
        let shares = shares(&group);
        let (mut targets, mut bounds, alone) = (Vec::new(), Vec::new(), group.len() == 1);
        for (mut deployment, weight) in group.into_iter().zip(shares) {
            let wanted =
                if direct { name.split('/').next().unwrap_or_default() } else { deployment.account.vendor };
            let Some(provider) = self.account(&deployment, wanted, report) else { continue };
            bounds.append(&mut deployment.bounds);
            targets.push(TargetEntry {
                model: format!("{provider}/{}", deployment.model),
                weight,
                params: deployment.params,
                timeouts: deployment.timeouts,
                retries: deployment.retries,
            });
        }
        if direct && targets.first().is_some_and(|target| target.model == name) {
            // Clients ask for it as before, without an entry.
            left_out(&bounds, report);
            self.names.insert(name.clone(), name);
            return;
        }
        if targets.is_empty() {
            // Noted with all names that are gone.
            return;
        }
        if targets.iter().all(|target| target.weight == 0) {
            targets.iter_mut().for_each(|target| target.weight = 1);
        }
        let ours = self.free(&name);
        if ours != name {
            report.note(
                &place.member("model_name"),
                format!("cannot be a name here; clients ask for `{ours}`"),
            );
        }
        self.origins.add("models", &ours, &place);
        if !alone {
            left_out(&bounds, report);
            bounds.clear();
        }
        let (limits, budgets) = limit::together(bounds, report);
        let made = ModelGroup { targets, limits, budgets, ..ModelGroup::default() };
        self.document.models.insert(ours.clone(), made);
        self.names.insert(name, ours);
    }

    /// A name for a group, as near as possible to theirs.
    pub(super) fn free(&mut self, wanted: &str) -> String {
        let head = wanted.split_once('/').map(|(head, _)| head);
        let hides = |head| head == "mock" || self.document.providers.contains_key(head);
        if head.is_some_and(hides) {
            self.groups.take(&wanted.replace('/', "-"))
        } else {
            self.groups.take(wanted)
        }
    }

    /// The provider of an account, made where it is not there yet.
    fn account(&mut self, deployment: &Deployment, wanted: &str, report: &mut Report) -> Option<String> {
        if let Some(known) = self.accounts.get(&deployment.account) {
            if known.is_none() {
                report.note(&deployment.place, "is left out like the entry before it with the same account");
            }
            return known.clone();
        }
        let name = self.providers.take_provider(wanted);
        let account = &deployment.account;
        let place = deployment.place.member("litellm_params");
        let mut entry = account::entry_like(&name, account.vendor);
        entry.base_url = account.base_url.clone();
        if let Some(key) = &account.key {
            let secret = NOTATION.secret(key);
            let key =
                secret::provider_key(&name, "main".to_owned(), secret, (&place.member("api_key"), report));
            entry.keys = vec![key];
            let usual = listed().get(account.vendor).map(|row| &row.auth);
            entry.auth = (usual == Some(&Auth::None)).then_some(Auth::Bearer);
        }
        let headers = parts(account, &place);
        let made = check::provider(&name, entry, Parts { headers, tls: None }, (&deployment.place, report));
        let found = made.is_some().then(|| name.clone());
        if let Some(entry) = made {
            self.origins.add("providers", &name, &place);
            self.document.providers.insert(name, entry);
        }
        self.accounts.insert(deployment.account.clone(), found.clone());
        found
    }
}

fn parts(account: &Account, place: &Place) -> Vec<(String, Place, String)> {
    let place = place.member("extra_headers");
    let headers = account.headers.iter();
    headers.map(|(name, value)| (name.clone(), place.member(name), value.clone())).collect()
}

/// What clients write before the slash, where a pattern stands for all models of an account.
fn wild_head(deployment: &Deployment) -> Option<&str> {
    let head = deployment.name.strip_suffix("/*").filter(|head| !head.contains(['*', '/']))?;
    (deployment.model == "*" && !head.is_empty()).then_some(head)
}

/// Whether a group is nothing but one model under the vendor's name.
fn is_direct(name: &str, group: &[Deployment]) -> bool {
    let [only] = group else { return false };
    only.is_plain() && format!("{}/{}", only.prefix, only.model) == name
}

/// Their first measure that any of them has.
fn shares(group: &[Deployment]) -> Vec<u32> {
    let measure = |index: usize| group.iter().map(|d| d.shares[index]).collect::<Vec<_>>();
    let found = (0..3).map(measure).find(|shares| shares.iter().any(|share| *share > 0.0));
    found.map_or_else(|| vec![1; group.len()], |shares| account::whole_weights(&shares))
}

/// Notes budgets of single targets, which have none here.
fn left_out(bounds: &[limit::One], report: &mut Report) {
    for one in bounds {
        report.note(
            one.place(),
            "is of one target, and left out; write `budgets` of the name, or of the provider",
        );
    }
}
