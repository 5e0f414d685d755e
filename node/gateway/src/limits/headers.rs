//! What is left of limits, in the headers that the clients of each dialect look for.

use http::{HeaderMap, HeaderName, HeaderValue};
use std::time::{Duration, UNIX_EPOCH};
use trestle_config::{Limit, Measure};
use trestle_counters::View;
use trestle_dialect::Dialect;

/// What is left of one limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Left {
    /// What it counts.
    pub(crate) measure: Measure,
    /// How much may be used.
    pub(crate) limit: u64,
    /// How much of it is neither used nor held.
    pub(crate) remaining: u64,
    /// When some of it is free again (unix milliseconds).
    pub(crate) resets_at_ms: Option<u64>,
}

impl Left {
    /// What a look at its counter says.
    pub(crate) fn of(limit: &Limit, view: &View) -> Self {
        let most = limit.amount_at(view.window_id);
        let remaining = most.saturating_sub(view.used());
        Self { measure: limit.measure, limit: most, remaining, resets_at_ms: view.resets_at_ms }
    }

    /// Whether less of it is left than of another, measured by each one's own size.
    fn is_tighter(&self, other: &Self) -> bool {
        let (mine, theirs) = (u128::from(self.remaining), u128::from(other.remaining));
        mine * u128::from(other.limit.max(1)) < theirs * u128::from(self.limit.max(1))
    }
}

/// The names of one measure in one dialect: the limit, what remains, when it resets.
type Names = [HeaderName; 3];

const fn names(limit: &'static str, remaining: &'static str, reset: &'static str) -> Names {
    [HeaderName::from_static(limit), HeaderName::from_static(remaining), HeaderName::from_static(reset)]
}

const OPENAI_REQUESTS: Names =
    names("x-ratelimit-limit-requests", "x-ratelimit-remaining-requests", "x-ratelimit-reset-requests");
const OPENAI_TOKENS: Names =
    names("x-ratelimit-limit-tokens", "x-ratelimit-remaining-tokens", "x-ratelimit-reset-tokens");
const ANTHROPIC_REQUESTS: Names = names(
    "anthropic-ratelimit-requests-limit",
    "anthropic-ratelimit-requests-remaining",
    "anthropic-ratelimit-requests-reset",
);
const ANTHROPIC_TOKENS: Names = names(
    "anthropic-ratelimit-tokens-limit",
    "anthropic-ratelimit-tokens-remaining",
    "anthropic-ratelimit-tokens-reset",
);
const ANTHROPIC_INPUT: Names = names(
    "anthropic-ratelimit-input-tokens-limit",
    "anthropic-ratelimit-input-tokens-remaining",
    "anthropic-ratelimit-input-tokens-reset",
);
const ANTHROPIC_OUTPUT: Names = names(
    "anthropic-ratelimit-output-tokens-limit",
    "anthropic-ratelimit-output-tokens-remaining",
    "anthropic-ratelimit-output-tokens-reset",
);

/// The names for a measure; `None` where the clients of the dialect know none. Vendors without such headers of their own
/// get those of OpenAI, which tools for all vendors read.
fn names_of(dialect: Dialect, measure: Measure) -> Option<&'static Names> {
    static ALL: [Names; 6] = [
        OPENAI_REQUESTS,
        OPENAI_TOKENS,
        ANTHROPIC_REQUESTS,
        ANTHROPIC_TOKENS,
        ANTHROPIC_INPUT,
        ANTHROPIC_OUTPUT,
    ];
    let [openai_requests, openai_tokens, requests, tokens, input, output] = &ALL;
    match (dialect, measure) {
        (_, Measure::Concurrent | Measure::NanoUsd) => None,
        (Dialect::AnthropicMessages, Measure::Requests) => Some(requests),
        (Dialect::AnthropicMessages, Measure::Tokens) => Some(tokens),
        (Dialect::AnthropicMessages, Measure::InputTokens) => Some(input),
        (Dialect::AnthropicMessages, Measure::OutputTokens) => Some(output),
        (_, Measure::Requests) => Some(openai_requests),
        (_, Measure::Tokens | Measure::InputTokens | Measure::OutputTokens) => Some(openai_tokens),
    }
}

/// Writes the headers: of several limits of a measure the tightest.
pub(crate) fn write(dialect: Dialect, now_ms: u64, all: &[Left], headers: &mut HeaderMap) {
    let mut told: [Option<(&Names, Left)>; 4] = [None; 4];
    for left in all {
        let Some(names) = names_of(dialect, left.measure) else { continue };
        let slot = told.iter_mut().find(|slot| slot.is_none_or(|(other, _)| std::ptr::eq(other, names)));
        if let Some(slot) = slot
            && slot.is_none_or(|(_, other)| left.is_tighter(&other))
        {
            *slot = Some((names, *left));
        }
    }
    for ([limit, remaining, reset], left) in told.into_iter().flatten() {
        headers.insert(limit.clone(), HeaderValue::from(left.limit));
        headers.insert(remaining.clone(), HeaderValue::from(left.remaining));
        if let Some(at) = left.resets_at_ms.and_then(|at| resets(dialect, now_ms, at)) {
            headers.insert(reset.clone(), at);
        }
    }
}

/// Anthropic tells a time, OpenAI how long it will take.
fn resets(dialect: Dialect, now_ms: u64, at_ms: u64) -> Option<HeaderValue> {
    let text = if dialect == Dialect::AnthropicMessages {
        humantime::format_rfc3339_seconds(UNIX_EPOCH + Duration::from_millis(at_ms)).to_string()
    } else {
        short(at_ms.saturating_sub(now_ms))
    };
    HeaderValue::try_from(text).ok()
}

/// As OpenAI writes it: `20ms`, `1s`, `6m0s`, `1h30m0s`.
fn short(ms: u64) -> String {
    let seconds = ms.div_ceil(1000);
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        _ if ms < 1000 => format!("{ms}ms"),
        (0, 0, seconds) => format!("{seconds}s"),
        (0, minutes, seconds) => format!("{minutes}m{seconds}s"),
        (hours, minutes, seconds) => format!("{hours}h{minutes}m{seconds}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(dialect: Dialect, all: &[(Measure, u64, u64)]) -> Vec<String> {
        let all: Vec<_> = all
            .iter()
            .map(|&(measure, limit, remaining)| Left {
                measure,
                limit,
                remaining,
                resets_at_ms: Some(90_500),
            })
            .collect();
        let mut headers = HeaderMap::new();
        write(dialect, 1_000, &all, &mut headers);
        let mut lines: Vec<_> =
            headers.iter().map(|(name, value)| format!("{name}: {}", value.to_str().unwrap())).collect();
        lines.sort();
        lines
    }

    #[test]
    fn each_dialect_has_its_own_and_the_tightest_is_told() {
        use Measure::{Concurrent, InputTokens, NanoUsd, Requests, Tokens};
        let all = [
            (Requests, 100, 50),
            (Requests, 1000, 10),
            (Tokens, 9, 3),
            (InputTokens, 5, 4),
            (NanoUsd, 1, 1),
            (Concurrent, 1, 1),
        ];
        assert_eq!(
            written(Dialect::OpenAiChat, &all),
            [
                "x-ratelimit-limit-requests: 1000",
                "x-ratelimit-limit-tokens: 9",
                "x-ratelimit-remaining-requests: 10",
                "x-ratelimit-remaining-tokens: 3",
                "x-ratelimit-reset-requests: 1m30s",
                "x-ratelimit-reset-tokens: 1m30s",
            ]
        );
        let anthropic = written(Dialect::AnthropicMessages, &all);
        assert!(
            anthropic.contains(&"anthropic-ratelimit-requests-remaining: 10".to_owned()),
            "{anthropic:?}"
        );
        assert!(anthropic.contains(&"anthropic-ratelimit-input-tokens-limit: 5".to_owned()), "{anthropic:?}");
        assert!(
            anthropic.contains(&"anthropic-ratelimit-tokens-reset: 1970-01-01T00:01:30Z".to_owned()),
            "{anthropic:?}"
        );
        assert!(written(Dialect::Gemini, &[(NanoUsd, 1, 1)]).is_empty());
    }

    #[test]
    fn durations_are_short() {
        for (ms, text) in [(0, "0ms"), (20, "20ms"), (1_000, "1s"), (360_000, "6m0s"), (5_400_000, "1h30m0s")]
        {
            assert_eq!(short(ms), text);
        }
    }
}
