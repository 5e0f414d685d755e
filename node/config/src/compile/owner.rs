//! Customers, teams and users, and how keys belong to them.

use super::{
    check_name,
    limit::{self, Written},
    names::Names,
};
use crate::{
    BudgetEntry, Caller, Document, Kind, Limit, LimitEntry, Limits, Owner, OwnerKind, path::Path,
    problem::Findings, suggest::did_you_mean,
};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

/// Most tags that what a caller uses is told apart by, and the longest: each is written with every call.
const TAGS_MAX: usize = 16;
const TAG_CHARS_MAX: usize = 64;

/// Those of one kind, by name. A clone costs little as long as neither changes.
type Held = Arc<BTreeMap<Arc<str>, Arc<One>>>;

/// All that keys can belong to.
#[derive(Debug, Default, Clone)]
pub(super) struct Owners {
    customers: Held,
    teams: Held,
    users: Held,
}

/// A customer, a team or a user.
#[derive(Debug)]
struct One {
    /// The customer of a team, the team of a user.
    above: Option<Box<str>>,
    tags: Box<[Box<str>]>,
    limits: Limits,
}

/// What a key says of whom it belongs to, and what is its own: what its caller is made of anew when one of those changes.
#[derive(Debug, Clone, Default)]
pub struct Membership {
    pub(super) customer: Option<Box<str>>,
    pub(super) team: Option<Box<str>>,
    pub(super) user: Option<Box<str>>,
    pub(super) tags: Box<[Box<str>]>,
    pub(super) limits: Limits,
}

/// What is written of one of them.
#[derive(Clone, Copy)]
struct Entry<'a> {
    above: Option<&'a str>,
    limits: &'a [LimitEntry],
    budgets: &'a [BudgetEntry],
    tags: &'a [String],
}

impl Owners {
    /// Takes in those of a document; others of the same names give way.
    pub(super) fn set(&mut self, document: &Document, names: &Names<'_>, findings: &mut Findings) {
        let mut maker = Maker { names, findings };
        for (name, entry) in &document.customers {
            let entry =
                Entry { above: None, limits: &entry.limits, budgets: &entry.budgets, tags: &entry.tags };
            let one = maker.one((Kind::Customer, OwnerKind::Customer, name), entry);
            Arc::make_mut(&mut self.customers).insert(name.as_str().into(), one);
        }
        for (name, entry) in &document.teams {
            let above = entry.customer.as_deref();
            let entry = Entry { above, limits: &entry.limits, budgets: &entry.budgets, tags: &entry.tags };
            let one = maker.one((Kind::Team, OwnerKind::Team, name), entry);
            Arc::make_mut(&mut self.teams).insert(name.as_str().into(), one);
        }
        for (name, entry) in &document.users {
            let above = entry.team.as_deref();
            let entry = Entry { above, limits: &entry.limits, budgets: &entry.budgets, tags: &entry.tags };
            let one = maker.one((Kind::User, OwnerKind::User, name), entry);
            Arc::make_mut(&mut self.users).insert(name.as_str().into(), one);
        }
    }

    pub(super) fn remove(&mut self, kind: Kind, name: &str) {
        let held = match kind {
            Kind::Customer => &mut self.customers,
            Kind::Team => &mut self.teams,
            Kind::User => &mut self.users,
            _ => return,
        };
        Arc::make_mut(held).remove(name);
    }

    /// Checks that what teams and users belong to is there.
    pub(super) fn check(&self, findings: &mut Findings) {
        let root = Path::Root;
        for (kind, held, member, above) in [
            (Kind::Team, &self.teams, "customer", &self.customers),
            (Kind::User, &self.users, "team", &self.teams),
        ] {
            let path = root.member(kind.name());
            for (name, one) in held.iter() {
                find(above, one.above.as_deref(), (member, &path.member(name)), findings);
            }
        }
    }

    /// The limits of all of them, each with the kind and name of its owner in the document.
    pub(super) fn limits(&self) -> impl Iterator<Item = (Kind, &str, &Limit)> {
        let all = [(Kind::Customer, &self.customers), (Kind::Team, &self.teams), (Kind::User, &self.users)];
        all.into_iter().flat_map(|(kind, held)| {
            held.iter()
                .flat_map(move |(name, one)| one.limits.iter().map(move |limit| (kind, &**name, &**limit)))
        })
    }

    /// Fills in what a caller has of those that it belongs to; `path` is that of its key.
    pub(super) fn join(
        &self,
        caller: &mut Caller,
        own: &Membership,
        path: &Path<'_>,
        findings: &mut Findings,
    ) {
        let user = find(&self.users, own.user.as_deref(), ("user", path), findings);
        let said = find(&self.teams, own.team.as_deref(), ("team", path), findings);
        let of_user = user.and_then(|(_, user)| self.teams.get_key_value(user.above.as_deref()?));
        if let (Some((said, _)), Some((team, _))) = (said, of_user)
            && said != team
        {
            let message = format!("is `{said}`, and its user is of the team `{team}`; remove it");
            findings.problem(&path.member("team"), message);
        }
        let team = said.or(of_user);
        let said = find(&self.customers, own.customer.as_deref(), ("customer", path), findings);
        let of_team = team.and_then(|(_, team)| self.customers.get_key_value(team.above.as_deref()?));
        if own.team.is_some() && own.customer.is_some() {
            let message = "cannot be beside `team`, for the customer is that of the team; remove one of them";
            findings.problem(&path.member("customer"), message);
        } else if let (Some((said, _)), Some((customer, _))) = (said, of_team)
            && said != customer
        {
            let message = format!("is `{said}`, and the team of its user is of `{customer}`; remove it");
            findings.problem(&path.member("customer"), message);
        }
        let customer = said.or(of_team);
        let owners = [customer, team, user];
        let [customer, team, user] = owners.map(|owner| owner.map(|(name, _)| Arc::clone(name)));
        (caller.customer, caller.team, caller.user) = (customer, team, user);
        let limits = owners.iter().flatten().map(|(_, one)| &one.limits).chain([&own.limits]);
        caller.limits = joined(limits);
        let tags = owners.iter().rev().flatten().map(|(_, one)| &*one.tags);
        caller.tags = tags_of([&*own.tags].into_iter().chain(tags), &path.member("tags"), findings);
    }
}

/// One of them by its name, or a problem.
fn find<'h>(
    held: &'h Held,
    name: Option<&str>,
    (member, path): (&str, &Path<'_>),
    findings: &mut Findings,
) -> Option<(&'h Arc<str>, &'h Arc<One>)> {
    let name = name?;
    let found = held.get_key_value(name);
    if found.is_none() {
        let meant = did_you_mean(name, held.keys().map(|name| &**name));
        findings.problem(&path.member(member), format!("`{name}` is not in `{member}s`{meant}"));
    }
    found
}

/// All in one list; where only one has any it is shared.
fn joined<'l>(lists: impl Iterator<Item = &'l Limits> + Clone) -> Limits {
    let mut some = lists.filter(|limits| !limits.is_empty());
    match (some.next(), some.clone().next()) {
        (None, _) => Limits::default(),
        (Some(only), None) => Arc::clone(only),
        (Some(first), Some(_)) => {
            first.iter().chain(some.flat_map(|limits| limits.iter())).cloned().collect()
        }
    }
}

fn tags_of<'t>(
    lists: impl Iterator<Item = &'t [Box<str>]>,
    path: &Path<'_>,
    findings: &mut Findings,
) -> Arc<[Box<str>]> {
    let (mut made, mut seen, mut left_out) = (Vec::new(), BTreeSet::new(), 0);
    for tag in lists.flatten().filter(|tag| seen.insert(&***tag)) {
        if made.len() < TAGS_MAX && tag.chars().count() <= TAG_CHARS_MAX {
            made.push(tag.clone());
        } else {
            left_out += 1;
        }
    }
    if left_out > 0 {
        let message = format!(
            "{left_out} of them, with those of its user, team and customer, are not written with its calls: \
             that is done with {TAGS_MAX}, each of at most {TAG_CHARS_MAX} characters"
        );
        findings.warning(path, message);
    }
    made.into()
}

/// Makes owners, and notes what is wrong with them.
struct Maker<'a, 'f> {
    names: &'a Names<'a>,
    findings: &'f mut Findings,
}

impl Maker<'_, '_> {
    fn one(&mut self, (kind, owner, name): (Kind, OwnerKind, &str), entry: Entry<'_>) -> Arc<One> {
        let root = Path::Root;
        let path = root.member(kind.name());
        let path = path.member(name);
        check_name(name, &path, self.findings);
        let tags = path.member("tags");
        if entry.tags.len() > TAGS_MAX {
            self.findings.problem(&tags, format!("are more than {TAGS_MAX}; remove some"));
        }
        for (index, tag) in entry.tags.iter().enumerate() {
            let count = tag.chars().count();
            let wrong = tag.trim() != tag || tag.chars().any(char::is_control);
            if wrong || count == 0 || count > TAG_CHARS_MAX {
                let message = format!(
                    "must have 1 to {TAG_CHARS_MAX} characters, without control characters, or white space around it"
                );
                self.findings.problem(&tags.item(index), message);
            }
        }
        let owner = Owner { kind: owner, name: name.into() };
        let written = Written { limits: entry.limits, budgets: entry.budgets };
        Arc::new(One {
            above: entry.above.map(Box::from),
            tags: entry.tags.iter().map(|tag| tag.as_str().into()).collect(),
            limits: limit::compile(&owner, written, self.names, &path, self.findings),
        })
    }
}
