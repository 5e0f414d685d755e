//! Virtual keys of Bifrost and whom they belong to: who may ask for what, and how much.

use super::{
    Allowed, Draft, ENTERPRISE, Empty, MCP, headers,
    limits::{Book, Bounds},
    provider,
};
use crate::{
    CallerKey, CustomerEntry, ProviderLimits, TeamEntry,
    import::{
        account::Names,
        members::{Members, Remarks},
        report::{Place, Report},
        secret,
    },
};
use serde_json::Value;
use std::collections::BTreeMap;

const OWNERS: &str = "has no equivalent: keys of clients belong to customers, teams and users";
const MODELS: &str =
    "is not carried over; write `limits` and `budgets` of a name in `models`, or of a key at a provider";
const CLOSED: &str = "has limits or headers that cannot be said here, so it is disabled; write `limits`, `budgets` and `required_headers`, and remove `disabled`";

const REMARKS: Remarks<'static> = &[
    ("model_configs", MODELS),
    ("business_units", OWNERS),
    ("roles", ENTERPRISE),
    ("projects", ENTERPRISE),
    ("pricing_overrides", "is not carried over; write prices into `catalog`"),
    ("complexity_analyzer_config", "has no equivalent: requests are not routed by what they say"),
    ("auth_config", "has no equivalent: there is no admin API or console yet"),
];

const OWNER: Remarks<'static> = &[
    ("description", "has no equivalent; write a comment"),
    ("profile", "has no equivalent"),
    ("config", "has no equivalent"),
    ("claims", "has no equivalent"),
    ("business_unit_id", OWNERS),
];

const KEY: Remarks<'static> = &[
    ("id", "has no use here: nothing refers to it"),
    ("description", "has no equivalent; write a comment"),
    ("access_profile_id", OWNERS),
    ("project_id", OWNERS),
    ("mcp_configs", MCP),
];

const PROVIDER: Remarks<'static> = &[
    ("id", "has no use here: nothing refers to it"),
    ("virtual_key_id", "has no use here: the key stands above it"),
    (
        "weight",
        "is not carried over: a name in `models` has targets with weights, and a client asks for that name",
    ),
];

/// A customer or a team of ours, by their id.
pub(super) struct Owner {
    name: String,
    /// Some of its limits cannot be said, so none of its keys may be used.
    closed: bool,
}

type Owners = BTreeMap<String, Owner>;

impl Draft {
    pub(super) fn governance(&mut self, mut governance: Members, report: &mut Report) {
        let mut book = Book::read(&mut governance, report);
        for (place, value) in governance.list("providers", report).unwrap_or_default() {
            if let Some(entry) = Members::new(value, place, report) {
                self.provider_bounds(entry, &mut book, report);
            }
        }
        let (customers, mut names) = (governance.list("customers", report), Names::default());
        for (place, value) in customers.unwrap_or_default() {
            if let Some(entry) = Members::new(value, place, report) {
                self.customer(entry, &mut names, &mut book, report);
            }
        }
        let (teams, mut names) = (governance.list("teams", report), Names::default());
        for (place, value) in teams.unwrap_or_default() {
            if let Some(entry) = Members::new(value, place, report) {
                self.team(entry, &mut names, &mut book, report);
            }
        }
        let (keys, mut names) = (governance.list("virtual_keys", report), Names::default());
        for (place, value) in keys.unwrap_or_default() {
            if let Some(key) = Members::new(value, place, report) {
                self.virtual_key(key, &mut names, &mut book, report);
            }
        }
        book.rest(report);
        let rules = governance.list("routing_rules", report).unwrap_or_default();
        self.rules(rules, report);
        governance.rest(REMARKS, report);
    }

    fn provider_bounds(&mut self, mut entry: Members, book: &mut Book, report: &mut Report) {
        let place = entry.place.clone();
        let name = entry.text("name", report).or_else(|| entry.text("provider", report));
        let bounds = book.of(&mut entry, report);
        entry.rest(PROVIDER, report);
        let ours = name.and_then(|name| self.providers.get(&name).cloned().flatten());
        let Some(made) = ours.and_then(|ours| self.document.providers.get_mut(&ours)) else {
            return report.note(&place, "is for a provider that is not carried over, and left out");
        };
        if bounds.broken {
            report.note(
                &place,
                "has limits that cannot be said here; write `limits` and `budgets` of the provider",
            );
        }
        (made.limits, made.budgets) = (bounds.limits, bounds.budgets);
    }

    fn customer(&mut self, mut entry: Members, names: &mut Names, book: &mut Book, report: &mut Report) {
        let place = entry.place.clone();
        let id = entry.text("id", report);
        let wanted = entry.text("name", report).or_else(|| id.clone());
        let bounds = book.of(&mut entry, report);
        entry.rest(OWNER, report);
        let name = names.take(wanted.as_deref().unwrap_or("customer"));
        self.origins.add("customers", &name, &place);
        let (limits, budgets) = (bounds.limits, bounds.budgets);
        let made = CustomerEntry { limits, budgets, ..CustomerEntry::default() };
        self.document.customers.insert(name.clone(), made);
        if let Some(id) = id {
            self.customers.insert(id, Owner { name, closed: bounds.broken });
        }
    }

    fn team(&mut self, mut entry: Members, names: &mut Names, book: &mut Book, report: &mut Report) {
        let place = entry.place.clone();
        let id = entry.text("id", report);
        let wanted = entry.text("name", report).or_else(|| id.clone());
        let bounds = book.of(&mut entry, report);
        let mut closed = bounds.broken;
        let customer = owner("customer_id", (&mut entry, &self.customers), &mut closed, report);
        entry.rest(OWNER, report);
        let name = names.take(wanted.as_deref().unwrap_or("team"));
        self.origins.add("teams", &name, &place);
        let (limits, budgets) = (bounds.limits, bounds.budgets);
        let made = TeamEntry { customer, limits, budgets, ..TeamEntry::default() };
        self.document.teams.insert(name.clone(), made);
        if let Some(id) = id {
            self.teams.insert(id, Owner { name, closed });
        }
    }

    fn virtual_key(&mut self, mut key: Members, names: &mut Names, book: &mut Book, report: &mut Report) {
        let place = key.place.clone();
        let wanted = key.text("name", report).or_else(|| key.text("id", report));
        let value = provider::secret_of(key.take("value"), &key.at("value"), report);
        let mut disabled = key.flag("is_active", report) == Some(false);
        let bounds = book.of(&mut key, report);
        let mut closed = bounds.broken;
        let team = owner("team_id", (&mut key, &self.teams), &mut closed, report);
        let customer = owner("customer_id", (&mut key, &self.customers), &mut closed, report);
        if team.is_some() && customer.is_some() {
            report.note(&key.at("customer_id"), "is left out: the customer of a key is that of its team");
        }
        let customer = customer.filter(|_| team.is_none());
        let mut at_providers = AtProviders { book, limits: BTreeMap::new(), broken: false };
        let models = self.grants(&mut key, &mut at_providers, report);
        closed |= at_providers.broken;
        let provider_limits = at_providers.limits;
        let own = headers::read(&mut key, report);
        closed |= own.broken || self.required_headers.broken;
        let mut required_headers = self.required_headers.headers.clone();
        // Any value is not to take the place of one.
        required_headers.retain(|name, _| own.headers.get(name).is_none_or(|value| value == "*"));
        for (name, value) in own.headers {
            required_headers.entry(name).or_insert(value);
        }
        let expires_at = key.text("expires_at", report);
        let expires_at = expires_at.filter(|at| {
            let is_time = humantime::parse_rfc3339(at).is_ok();
            if !is_time {
                disabled = true;
                report.note(
                    &place.member("expires_at"),
                    "is not a time in UTC, so the key is disabled; write `expires_at` as `2027-01-31T00:00:00Z` and remove `disabled`",
                );
            }
            is_time
        });
        let at = key.at("value");
        key.rest(KEY, report);
        let Some(value) = value else {
            return report.note(
                &place,
                "has no value in the file and is left out; add its `sha256:HEX` or `env:NAME`",
            );
        };
        let Some(value) = secret::caller_value(value, &at, report) else { return };
        if !self.values.insert(value.clone()) {
            return report.note(&place, "has the value of another key and is left out");
        }
        if models.is_none() {
            disabled = true;
            report
                .note(&place, "may ask for nothing, so it is disabled; write `models` and remove `disabled`");
        }
        if closed {
            disabled = true;
            report.note(&place, CLOSED);
        }
        let models = models.unwrap_or_default();
        let name = names.take(wanted.as_deref().unwrap_or("key"));
        self.origins.add("keys", &name, &place);
        let Bounds { limits, budgets, .. } = bounds;
        let own = CallerKey { limits, budgets, provider_limits, required_headers, ..CallerKey::default() };
        let own = CallerKey { team, customer, ..own };
        self.document.keys.insert(name, CallerKey { value, models, disabled, expires_at, ..own });
    }

    /// Patterns of models, none for everything; `None` if nothing is allowed.
    fn grants(
        &self,
        key: &mut Members,
        at_providers: &mut AtProviders<'_>,
        report: &mut Report,
    ) -> Option<Vec<String>> {
        let all = key.flag("allow_all_providers", report) == Some(true);
        let configs = key.list("provider_configs", report).unwrap_or_default();
        let everything = all || (configs.is_empty() && self.empty == Empty::Everything);
        let mut patterns = Vec::new();
        for (place, value) in configs {
            let config = Members::new(value, place, report);
            patterns.extend(config.and_then(|c| self.provider_grants(c, at_providers, report)));
        }
        let patterns: Vec<String> = patterns.into_iter().flatten().collect();
        (everything || !patterns.is_empty()).then(|| if everything { Vec::new() } else { patterns })
    }

    fn provider_grants(
        &self,
        mut config: Members,
        at_providers: &mut AtProviders<'_>,
        report: &mut Report,
    ) -> Option<Vec<String>> {
        let place = config.place.clone();
        let provider = config.text("provider", report).unwrap_or_default();
        let allowed = config.texts("allowed_models", report);
        let blocked = config.texts("blacklisted_models", report).unwrap_or_default();
        let keys = config.list("key_ids", report).or_else(|| config.list("keys", report));
        let bounds = at_providers.book.of(&mut config, report);
        config.rest(PROVIDER, report);
        let Some(ours) = self.providers.get(&provider).cloned().flatten() else {
            report.note(&place, "is for a provider that is not carried over, and left out");
            return None;
        };
        at_providers.add(&ours, bounds);
        if let Some(keys) = keys {
            let none = keys.is_empty() && self.empty == Empty::Nothing;
            let some = !keys.is_empty() && !keys.iter().any(|(_, id)| id == &Value::from("*"));
            if none {
                report.note(&place.member("key_ids"), "allows no key (as of version 2), so this is left out");
                return None;
            }
            if some {
                report.note(
                    &place.member("key_ids"),
                    "has no equivalent: requests use any key of the provider; make a provider of its own for these keys",
                );
            }
        }
        let models = match self.empty.allowed(allowed) {
            Allowed::Everything if blocked.is_empty() => return Some(vec![format!("{ours}/*")]),
            Allowed::Everything => {
                report.note(
                    &place.member("blacklisted_models"),
                    "cannot be taken out of everything here, so nothing of this provider is allowed; name in `models` of the key what is",
                );
                return None;
            }
            Allowed::Only(models) => models,
        };
        let open = !blocked.iter().any(|item| item == "*");
        let kept = models.into_iter().filter(|model| open && !blocked.contains(model));
        let patterns: Vec<_> = kept.filter_map(|model| pattern(&ours, &model, &place, report)).collect();
        Some(patterns)
    }
}

/// What a key may use at single providers.
struct AtProviders<'b> {
    book: &'b mut Book,
    limits: BTreeMap<String, ProviderLimits>,
    broken: bool,
}

impl AtProviders<'_> {
    fn add(&mut self, provider: &str, bounds: Bounds) {
        self.broken |= bounds.broken;
        let (limits, budgets) = (bounds.limits, bounds.budgets);
        if !limits.is_empty() || !budgets.is_empty() {
            self.limits.insert(provider.to_owned(), ProviderLimits { limits, budgets });
        }
    }
}

/// The owner that a member names. Without one that is named something is not said, so what it is of is closed.
fn owner(
    member: &str,
    (members, owners): (&mut Members, &Owners),
    closed: &mut bool,
    report: &mut Report,
) -> Option<String> {
    let place = members.at(member);
    let id = members.text(member, report)?;
    let Some(owner) = owners.get(&id) else {
        *closed = true;
        report.note(&place, "names none that is in the file");
        return None;
    };
    *closed |= owner.closed;
    Some(owner.name.clone())
}

/// The pattern of one allowed model.
fn pattern(provider: &str, model: &str, place: &Place, report: &mut Report) -> Option<String> {
    if model.starts_with("regex:") {
        report.note(
            &place.member("allowed_models"),
            "holds a regular expression, which is left out; write a pattern with `*` into `models` of the key",
        );
        return None;
    }
    (!model.is_empty()).then(|| format!("{provider}/{model}"))
}
