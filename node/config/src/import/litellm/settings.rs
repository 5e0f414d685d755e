//! Settings of LiteLLM: of its router, its library and its proxy.

use super::{Draft, NOTATION, PASS, deployment::seconds, fallback::Rules, limits};
use crate::{
    CallerKey, ModelGroup, OnDisconnect, TargetEntry, Timeouts,
    import::{
        account::{self, RETRIES_MAX},
        members::{self, Members, Remarks},
        report::{Place, Report},
        secret,
    },
};
use serde_json::Value;
use std::collections::BTreeMap;

const HEALTH: &str = "has no equivalent: keys and targets that fail are left out by themselves";
const SHARED: &str = "has no equivalent: nothing is kept in Redis";
const CACHE: &str = "has no equivalent yet: answers are not cached";
const TELEMETRY: &str = "has no equivalent yet; `/metrics` serves Prometheus, the request log goes to stdout";
const DATABASE: &str = "has no equivalent: there is no database; keys that are in it have to be made anew";
const LATER: &str =
    "has no equivalent: it is for what is made later; write `limits` and `budgets` of teams, users and keys";
const TAGS: &str = "has no equivalent: requests are not routed by tags";
const ADMIN: &str = "has no equivalent: there is no admin API or console yet";

const ROUTER: Remarks<'static> = &[
    ("routing_strategy_args", "has no equivalent"),
    ("routing_groups", "has no equivalent; every name in `models` has a strategy of its own"),
    ("allowed_fails", HEALTH),
    ("allowed_fails_policy", HEALTH),
    ("cooldown_time", HEALTH),
    ("disable_cooldowns", HEALTH),
    ("enable_pre_call_checks", "has no equivalent: a prompt that does not fit goes on to the next target"),
    ("optional_pre_call_checks", "has no equivalent"),
    ("retry_policy", "has no equivalent; `retries` of a target or provider hold for all failures"),
    (
        "model_group_retry_policy",
        "has no equivalent; `retries` of a target or provider hold for all failures",
    ),
    ("redis_host", SHARED),
    ("redis_port", SHARED),
    ("redis_password", SHARED),
    ("redis_url", SHARED),
    ("cache_responses", CACHE),
    ("cache_kwargs", CACHE),
    ("enable_tag_filtering", TAGS),
    ("tag_filtering_match_any", TAGS),
    (
        "default_max_parallel_requests",
        "is not carried over; `settings.provider_concurrency` bounds the calls at once",
    ),
    ("set_verbose", "has no equivalent; see `log` in the node settings"),
    ("max_fallbacks", "has no equivalent; `settings.attempts_max` bounds the targets of one request"),
];

const LIBRARY: Remarks<'static> = &[
    ("set_verbose", "has no equivalent; see `log` in the node settings"),
    ("json_logs", "has no use here: logs are JSON"),
    ("callbacks", TELEMETRY),
    ("success_callback", TELEMETRY),
    ("failure_callback", TELEMETRY),
    ("service_callback", TELEMETRY),
    ("turn_off_message_logging", "has no use here: content is never logged"),
    ("redact_user_api_key_info", "has no use here: keys are never logged"),
    ("cache", CACHE),
    ("cache_params", CACHE),
    ("allowed_fails", HEALTH),
    ("cooldown_time", HEALTH),
    ("default_internal_user_params", LATER),
    ("max_internal_user_budget", LATER),
    ("internal_user_budget_duration", LATER),
    ("default_max_internal_user_budget", LATER),
    ("max_end_user_budget", LATER),
    ("default_key_generate_params", LATER),
    ("upperbound_key_generate_params", LATER),
    ("modify_params", "has no equivalent: requests are changed only where a target speaks another dialect"),
    ("ssl_verify", "has no equivalent: certificates are always verified; trust an authority by `tls.ca`"),
    ("forward_traceparent_to_llm_provider", "has no equivalent; see `forward_headers` of a provider"),
];

const GENERAL: Remarks<'static> = &[
    ("database_url", DATABASE),
    ("database_connection_pool_limit", DATABASE),
    ("database_connection_timeout", DATABASE),
    ("store_model_in_db", DATABASE),
    ("use_redis_transaction_buffer", SHARED),
    ("disable_spend_logs", TELEMETRY),
    ("store_prompts_in_spend_logs", "has no equivalent: content is never logged"),
    ("proxy_batch_write_at", DATABASE),
    ("alerting", TELEMETRY),
    ("alerting_threshold", TELEMETRY),
    ("alerting_args", TELEMETRY),
    ("alert_types", TELEMETRY),
    ("background_health_checks", HEALTH),
    ("health_check_interval", HEALTH),
    ("completion_model", "has no equivalent: a request must name its model"),
    ("custom_auth", "has no equivalent: keys are in the document"),
    ("enable_jwt_auth", "has no equivalent yet: keys are in the document"),
    ("litellm_jwtauth", "has no equivalent yet: keys are in the document"),
    (
        "key_management_system",
        "has no equivalent: secrets are in the environment or in files; put them there",
    ),
    (
        "key_management_settings",
        "has no equivalent: secrets are in the environment or in files; put them there",
    ),
    ("pass_through_endpoints", PASS),
    ("ui_access_mode", ADMIN),
    ("allowed_routes", ADMIN),
    (
        "forward_client_headers_to_llm_api",
        "has no equivalent as a whole; name them in `forward_headers` of a provider",
    ),
    ("infer_model_from_keys", "has no equivalent"),
    ("dangerously_permit_weak_or_unset_master_key", "has no equivalent; see `settings.require_keys`"),
];

impl Draft {
    pub(super) fn router(&mut self, mut router: Members, rules: &mut Rules, report: &mut Report) {
        let at = router.at("routing_strategy");
        let strategy = router.text("routing_strategy", report);
        if strategy.is_some_and(|strategy| strategy != "simple-shuffle") {
            report.note(&at, "has no equivalent: targets are drawn by weight");
        }
        for name in ["fallbacks", "context_window_fallbacks", "content_policy_fallbacks"] {
            rules.read(&mut router, name, report);
        }
        rules.read_general(&mut router, report);
        self.provider_budgets(&mut router, report);
        self.limits(&mut router, report);
        if let Some(ms) = seconds(&mut router, "retry_after", report) {
            account::set_backoff(&mut self.document.settings.retries, Some(ms), None);
        }
        if let Some(aliases) = router.object("model_group_alias", report) {
            for (alias, place, value) in aliases.entries() {
                self.alias(&alias, value, &place, report);
            }
        }
        router.rest(ROUTER, report);
    }

    pub(super) fn library(&mut self, mut library: Members, rules: &mut Rules, report: &mut Report) {
        for name in ["fallbacks", "context_window_fallbacks", "content_policy_fallbacks"] {
            rules.read(&mut library, name, report);
        }
        rules.read_general(&mut library, report);
        self.bounds.extend(limits::budget(&mut library, ("max_budget", "budget_duration"), report));
        self.teams(&mut library, report);
        self.limits(&mut library, report);
        let at = library.at("drop_params");
        if library.flag("drop_params", report) == Some(false) {
            report.note(
                &at,
                "has no equivalent: what a target cannot express is always dropped, and named in the answer",
            );
        }
        library.rest(LIBRARY, report);
    }

    /// Limits for all requests; what the router says is read first and stays.
    fn limits(&mut self, members: &mut Members, report: &mut Report) {
        let settings = &mut self.document.settings;
        let tries = ["num_retries", "max_retries"]
            .map(|name| (members.at(name), members.count(name, RETRIES_MAX, report)));
        for (place, tries) in tries {
            match (settings.retries.max, tries) {
                (None, tries) => settings.retries.max = tries,
                (Some(set), Some(tries)) if set != tries => {
                    report.note(&place, format!("is {set} by another setting"))
                }
                _ => {}
            }
        }
        let times =
            ["timeout", "request_timeout"].map(|name| (members.at(name), seconds(members, name, report)));
        for (place, ms) in times.into_iter().filter_map(|(place, ms)| Some((place, ms?))) {
            match settings.timeouts.first_token_ms {
                None => account::set_first_token(&mut settings.timeouts, ms),
                Some(set) if set != ms => report.note(&place, format!("is {set} ms by another setting")),
                Some(_) => {}
            }
        }
        let place = members.at("stream_timeout");
        if let Some(ms) = seconds(members, "stream_timeout", report) {
            match settings.timeouts.idle_ms {
                None => settings.timeouts.idle_ms = Some(ms),
                Some(set) if set != ms => report.note(&place, format!("is {set} ms by another setting")),
                Some(_) => {}
            }
        }
    }

    /// Another name for a group, which gets the same targets.
    fn alias(&mut self, alias: &str, value: Value, place: &Place, report: &mut Report) {
        let theirs = if value.is_object() {
            let Some(mut members) = Members::new(value, place.clone(), report) else { return };
            let theirs = members.text("model", report);
            members.rest(&[("hidden", "has no equivalent: `/v1/models` shows all names")], report);
            theirs
        } else {
            members::text(value, place, report)
        };
        let Some(ours) = theirs.and_then(|theirs| self.names.get(&theirs)).cloned() else {
            return report.note(place, "is another name of nothing that is carried over, and left out");
        };
        if self.names.contains_key(alias) {
            return report.note(place, "is a name in `model_list` already, and left out");
        }
        let plain = |model: String| TargetEntry {
            model,
            weight: 1,
            params: BTreeMap::new(),
            timeouts: Timeouts::default(),
            retries: crate::Retries::default(),
        };
        let group =
            self.document.models.get(&ours).cloned().unwrap_or_else(|| ModelGroup {
                targets: vec![plain(ours.clone())],
                ..ModelGroup::default()
            });
        let name = self.free(alias);
        if name != alias {
            report.note(place, format!("cannot be a name here; clients ask for `{name}`"));
        }
        self.origins.add("models", &name, place);
        self.document.models.insert(name.clone(), group);
        self.aliases.push((name.clone(), ours));
        self.names.insert(alias.to_owned(), name);
    }

    /// The settings of the proxy; without any, too, there is a key or none.
    pub(super) fn general(&mut self, general: Option<Members>, at: &Place, report: &mut Report) {
        let mut key = None;
        if let Some(mut general) = general {
            key = general.text("master_key", report).filter(|key| !key.trim().is_empty());
            self.size(&mut general, report);
            for name in ["max_parallel_requests", "global_max_parallel_requests"] {
                self.bounds.extend(limits::parallel(&mut general, name, report));
            }
            if general.flag("cancel_on_disconnect", report) == Some(true) {
                self.document.settings.on_disconnect = OnDisconnect::Abort;
            }
            general.rest(GENERAL, report);
        }
        let place = at.member("master_key");
        let value = match key {
            Some(key) => secret::caller_value(NOTATION.secret(&key), &place, report),
            None => {
                report.note(
                    &place,
                    "is not set; where LITELLM_MASTER_KEY is not in the environment either, LiteLLM serves everybody, which here is `settings.require_keys: false`",
                );
                Some("env:LITELLM_MASTER_KEY".to_owned())
            }
        };
        if let Some(value) = value {
            let name = "master".to_owned();
            self.origins.add("keys", &name, &place);
            self.document.keys.insert(name, CallerKey { value, ..CallerKey::default() });
        }
    }

    fn size(&mut self, general: &mut Members, report: &mut Report) {
        let settings = &mut self.document.settings;
        let place = general.at("max_request_size_mb");
        let Some(megabytes) = general.number("max_request_size_mb", report).filter(|most| *most > 0.0) else {
            return;
        };
        // At most a terabyte, and whole.
        settings.body_bytes_max = (megabytes.clamp(0.001, 1e6) * f64::from(1 << 20)) as u64;
        if settings.body_bytes_max > settings.buffered_bytes_max {
            settings.buffered_bytes_max = settings.body_bytes_max;
            report.note(&place, "is more than all bodies in flight may have here, so that was raised too");
        }
    }
}
