//! Why an attempt failed, what that says about what to do next, and what the client is told when nothing is left.

use crate::upstream::{Broken, ConnectError, SendError};
use std::time::Duration;
use trestle_dialect::{Category, Fault, Refusal, RefusalKind};

/// A key that was refused is left out this long.
const BAD_KEY: Duration = Duration::from_secs(60);
/// A rate-limited key without a hint is left out this long.
const UNKNOWN_RESET: Duration = Duration::from_secs(5);
/// A hint of no time at all would have the same key picked again at once, without end.
const BENCH_MIN: Duration = Duration::from_millis(100);
/// No hint keeps a key out for longer.
const BENCH_MAX: Duration = Duration::from_secs(3600);

/// What to do after a failed attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next {
    /// The same target again, after a pause.
    Again,
    /// The same target with another key; this one stays out for a while.
    OtherKey(Duration),
    /// The next target.
    Onward,
    /// Nobody could serve this request: the client must change it.
    Stop,
}

/// Why an attempt failed.
#[derive(Debug, Clone)]
pub(crate) struct Failed {
    /// One of our fixed words.
    pub(crate) cause: &'static str,
    /// What to do.
    pub(crate) next: Next,
    /// What the upstream said, if it said something.
    pub(crate) fault: Option<Box<Fault>>,
    /// Our own words where it did not.
    pub(crate) message: String,
    /// The member of the request at fault, where it is our own finding.
    pub(crate) param: Option<String>,
    /// When the upstream asks to come back.
    pub(crate) retry_after: Option<Duration>,
}

impl Failed {
    /// A failure of our own finding.
    pub(crate) fn new(cause: &'static str, next: Next, message: impl ToString) -> Self {
        Self { cause, next, fault: None, message: message.to_string(), param: None, retry_after: None }
    }

    /// The answer began too late.
    pub(crate) fn first_token_timeout() -> Self {
        Self::new("first_token_timeout", Next::Onward, "the provider did not begin to answer in time")
    }

    /// The answer stopped in the middle.
    pub(crate) fn idle_timeout() -> Self {
        Self::new("idle_timeout", Next::Onward, "the provider stopped in the middle of its answer")
    }

    /// The whole request took too long.
    pub(crate) fn total_timeout() -> Self {
        Self::new("total_timeout", Next::Stop, "the request took longer than its total limit")
    }

    /// The answer makes no sense.
    pub(crate) fn malformed(message: impl ToString) -> Self {
        Self::new("malformed_answer", Next::Again, message)
    }

    /// The provider reported an error.
    pub(crate) fn fault(fault: Fault, retry_after: Option<Duration>) -> Self {
        let (cause, next) = judge(fault.category, retry_after);
        let message = fault.message.clone();
        Self { cause, next, message, fault: Some(Box::new(fault)), param: None, retry_after }
    }

    /// The request makes no sense in its own dialect, so nobody could serve it.
    pub(crate) fn unreadable(refusal: Refusal) -> Self {
        let param = refusal.param;
        Self { param, ..Self::new("invalid_request", Next::Stop, refusal.message) }
    }

    /// The target cannot express the request; another one might.
    pub(crate) fn unfit(refusal: Refusal) -> Self {
        let message = match &refusal.param {
            Some(param) if !refusal.message.contains(param.as_str()) => {
                format!("{param}: {}", refusal.message)
            }
            _ => refusal.message.into_owned(),
        };
        Self { param: refusal.param, ..Self::new("unsupported", Next::Onward, message) }
    }

    /// Whether the same request may well succeed later or elsewhere.
    pub(crate) fn is_passing(&self) -> bool {
        matches!(
            self.kind(),
            Some(RefusalKind::Overloaded | RefusalKind::RateLimited | RefusalKind::UpstreamTimeout)
        ) || (self.next == Next::Again && self.kind() == Some(RefusalKind::UpstreamFailed))
    }

    /// What the client is told if this is the last word: a refusal of ours, or (`None`) the upstream's own error,
    /// because it is the request that must change.
    pub(crate) fn kind(&self) -> Option<RefusalKind> {
        Some(match self.cause {
            "rate_limited" | "limit_reached" => RefusalKind::RateLimited,
            "budget_exceeded" => RefusalKind::BudgetExceeded,
            "overloaded" | "queue_full" | "credentials_pending" | "ledger_full" => RefusalKind::Overloaded,
            "first_token_timeout"
            | "idle_timeout"
            | "total_timeout"
            | "connect_timeout"
            | "upstream_timeout" => RefusalKind::UpstreamTimeout,
            "unsupported" | "media_unavailable" => RefusalKind::InvalidRequest,
            "invalid_request"
            | "context_too_long"
            | "content_policy"
            | "unsupported_parameter"
            | "model_not_found"
            | "too_large" => return None,
            _ => RefusalKind::UpstreamFailed,
        })
    }
}

fn judge(category: Category, retry_after: Option<Duration>) -> (&'static str, Next) {
    match category {
        Category::InvalidRequest => ("invalid_request", Next::Stop),
        Category::ContextTooLong => ("context_too_long", Next::Onward),
        Category::ContentPolicy => ("content_policy", Next::Onward),
        Category::UnsupportedParameter => ("unsupported_parameter", Next::Onward),
        Category::NotFound => ("model_not_found", Next::Onward),
        Category::TooLarge => ("too_large", Next::Onward),
        Category::Permission => ("permission_denied", Next::Onward),
        Category::Authentication => ("bad_credentials", Next::OtherKey(BAD_KEY)),
        Category::Quota => ("quota_exhausted", Next::OtherKey(BAD_KEY)),
        Category::RateLimit => {
            ("rate_limited", Next::OtherKey(retry_after.unwrap_or(UNKNOWN_RESET).clamp(BENCH_MIN, BENCH_MAX)))
        }
        Category::Overloaded => ("overloaded", Next::Again),
        Category::Timeout => ("upstream_timeout", Next::Again),
        Category::Api => ("server_error", Next::Again),
    }
}

impl From<SendError> for Failed {
    fn from(error: SendError) -> Self {
        let (cause, next) = match &error {
            SendError::Connect(ConnectError::Refused(_)) => ("address_refused", Next::Onward),
            SendError::Connect(ConnectError::Config(_) | ConnectError::Proxy(407)) => {
                ("bad_configuration", Next::Onward)
            }
            SendError::Connect(ConnectError::Timeout) => ("connect_timeout", Next::Again),
            SendError::Connect(_) => ("connect_failed", Next::Again),
            SendError::Broken(_) => ("connection_broken", Next::Again),
        };
        tracing::debug!(error = &error as &dyn std::error::Error, cause, "an upstream call failed");
        Self::new(cause, next, error)
    }
}

impl From<Broken> for Failed {
    fn from(broken: Broken) -> Self {
        Self::new("connection_broken", Next::Again, broken)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_limit_moves_on_with_and_without_a_hint() {
        let later = Some(Duration::from_secs(7));
        assert_eq!(
            judge(Category::RateLimit, later),
            ("rate_limited", Next::OtherKey(Duration::from_secs(7)))
        );
        assert_eq!(judge(Category::RateLimit, None), ("rate_limited", Next::OtherKey(UNKNOWN_RESET)));
        assert_eq!(judge(Category::RateLimit, Some(Duration::MAX)).1, Next::OtherKey(BENCH_MAX));
        assert_eq!(judge(Category::RateLimit, Some(Duration::ZERO)).1, Next::OtherKey(BENCH_MIN));
    }

    #[test]
    fn only_a_malformed_request_stops_the_walk() {
        for category in
            [Category::ContextTooLong, Category::ContentPolicy, Category::NotFound, Category::Permission]
        {
            assert_eq!(judge(category, None).1, Next::Onward, "{category:?}");
        }
        assert_eq!(judge(Category::InvalidRequest, None).1, Next::Stop);
    }
}
