//! Virtual keys of Bifrost: who may ask for what.

use super::{Allowed, Draft, ENTERPRISE, Empty, MCP, provider};
use crate::{
    CallerKey,
    import::{
        account::Names,
        members::{Members, Remarks},
        report::{Place, Report},
        secret,
    },
};
use serde_json::Value;

const LIMITS: &str = "has no equivalent yet: there are no budgets or rate limits of callers";
const TEAMS: &str = "has no equivalent yet: keys of clients belong to no one";

const REMARKS: Remarks<'static> = &[
    ("budgets", LIMITS),
    ("rate_limits", LIMITS),
    ("model_configs", LIMITS),
    ("customers", TEAMS),
    ("teams", TEAMS),
    ("business_units", TEAMS),
    ("roles", ENTERPRISE),
    ("projects", ENTERPRISE),
    ("providers", "is not carried over; see `providers` at the top of the file"),
    ("pricing_overrides", "has no equivalent yet: costs are not reckoned"),
    ("complexity_analyzer_config", "has no equivalent: requests are not routed by what they say"),
    ("auth_config", "has no equivalent: there is no admin API or console yet"),
];

const KEY: Remarks<'static> = &[
    ("id", "has no use here: nothing refers to it"),
    ("description", "has no equivalent; write a comment"),
    ("team_id", TEAMS),
    ("customer_id", TEAMS),
    ("access_profile_id", TEAMS),
    ("project_id", TEAMS),
    ("budget_id", LIMITS),
    ("budgets", LIMITS),
    ("rate_limit_id", LIMITS),
    ("rate_limit", LIMITS),
    ("calendar_aligned", LIMITS),
    ("mcp_configs", MCP),
];

const PROVIDER: Remarks<'static> = &[
    ("id", "has no use here: nothing refers to it"),
    ("virtual_key_id", "has no use here: the key stands above it"),
    ("rate_limit_id", LIMITS),
    ("rate_limit", LIMITS),
    ("budget_id", LIMITS),
    ("budgets", LIMITS),
    (
        "weight",
        "is not carried over: a name in `models` has targets with weights, and a client asks for that name",
    ),
];

impl Draft {
    pub(super) fn governance(&mut self, mut governance: Members, report: &mut Report) {
        let mut names = Names::default();
        for (place, value) in governance.list("virtual_keys", report).unwrap_or_default() {
            if let Some(key) = Members::new(value, place, report) {
                self.virtual_key(key, &mut names, report);
            }
        }
        let rules = governance.list("routing_rules", report).unwrap_or_default();
        self.rules(rules, report);
        governance.rest(REMARKS, report);
    }

    fn virtual_key(&mut self, mut key: Members, names: &mut Names, report: &mut Report) {
        let place = key.place.clone();
        let wanted = key.text("name", report).or_else(|| key.text("id", report));
        let value = provider::secret_of(key.take("value"), &key.at("value"), report);
        let mut disabled = key.flag("is_active", report) == Some(false);
        let models = self.grants(&mut key, report);
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
        let models = models.unwrap_or_default();
        let name = names.take(wanted.as_deref().unwrap_or("key"));
        self.origins.add("keys", &name, &place);
        self.document
            .keys
            .insert(name, CallerKey { value, models, disabled, expires_at, ..CallerKey::default() });
    }

    /// Patterns of models, none for everything; `None` if nothing is allowed.
    fn grants(&self, key: &mut Members, report: &mut Report) -> Option<Vec<String>> {
        let all = key.flag("allow_all_providers", report) == Some(true);
        let configs = key.list("provider_configs", report).unwrap_or_default();
        let everything = all || (configs.is_empty() && self.empty == Empty::Everything);
        let mut patterns = Vec::new();
        for (place, value) in configs {
            patterns.extend(Members::new(value, place, report).and_then(|c| self.provider_grants(c, report)));
        }
        let patterns: Vec<String> = patterns.into_iter().flatten().collect();
        (everything || !patterns.is_empty()).then(|| if everything { Vec::new() } else { patterns })
    }

    fn provider_grants(&self, mut config: Members, report: &mut Report) -> Option<Vec<String>> {
        let place = config.place.clone();
        let provider = config.text("provider", report).unwrap_or_default();
        let allowed = config.texts("allowed_models", report);
        let blocked = config.texts("blacklisted_models", report).unwrap_or_default();
        let keys = config.list("key_ids", report).or_else(|| config.list("keys", report));
        config.rest(PROVIDER, report);
        let Some(ours) = self.providers.get(&provider).cloned().flatten() else {
            report.note(&place, "is for a provider that is not carried over, and left out");
            return None;
        };
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
