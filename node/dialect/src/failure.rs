//! What can go wrong: a `Refusal` is an error of ours, a `Fault` one of the upstream, a `Failure` what a client is told.

use bytes::Bytes;
use std::{borrow::Cow, fmt, time::Duration};

/// The closed set of reasons for which we refuse a request ourselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RefusalKind {
    /// The request is malformed, or asks for what no target can do.
    InvalidRequest,
    /// No key, or one that we do not know.
    Unauthenticated,
    /// A known key that may not do this.
    Forbidden,
    /// No such path, model or provider.
    NotFound,
    /// The client was too slow to send its request.
    ClientTimeout,
    /// The body is above the limit.
    TooLarge,
    /// A limit of the caller is reached.
    RateLimited,
    /// A budget of the caller is spent.
    BudgetExceeded,
    /// A queue or a buffer of ours is full.
    Overloaded,
    /// Every target failed.
    UpstreamFailed,
    /// Every target failed, the last one by running out of time.
    UpstreamTimeout,
    /// A bug of ours.
    Internal,
}

impl RefusalKind {
    /// The status that goes with the kind.
    pub const fn status(self) -> u16 {
        match self {
            Self::InvalidRequest => 400,
            Self::Unauthenticated => 401,
            Self::BudgetExceeded => 402,
            Self::Forbidden => 403,
            Self::NotFound => 404,
            Self::ClientTimeout => 408,
            Self::TooLarge => 413,
            Self::RateLimited => 429,
            Self::Internal => 500,
            Self::UpstreamFailed => 502,
            Self::Overloaded => 503,
            Self::UpstreamTimeout => 504,
        }
    }

    /// What the vendors would call it.
    pub const fn category(self) -> Category {
        match self {
            Self::InvalidRequest | Self::ClientTimeout => Category::InvalidRequest,
            Self::Unauthenticated => Category::Authentication,
            Self::BudgetExceeded => Category::Quota,
            Self::Forbidden => Category::Permission,
            Self::NotFound => Category::NotFound,
            Self::TooLarge => Category::TooLarge,
            Self::RateLimited => Category::RateLimit,
            Self::Internal | Self::UpstreamFailed => Category::Api,
            Self::Overloaded => Category::Overloaded,
            Self::UpstreamTimeout => Category::Timeout,
        }
    }

    /// The name in logs, metrics and `code` members.
    pub const fn name(self) -> &'static str {
        match self {
            Self::InvalidRequest => "invalid_request",
            Self::Unauthenticated => "unauthenticated",
            Self::BudgetExceeded => "budget_exceeded",
            Self::Forbidden => "forbidden",
            Self::NotFound => "not_found",
            Self::ClientTimeout => "client_timeout",
            Self::TooLarge => "too_large",
            Self::RateLimited => "rate_limited",
            Self::Internal => "internal",
            Self::UpstreamFailed => "upstream_failed",
            Self::Overloaded => "overloaded",
            Self::UpstreamTimeout => "upstream_timeout",
        }
    }
}

/// An error of ours. `message` is public: it never holds a secret, a path of the host or an inner cause.
#[derive(Debug, Clone)]
pub struct Refusal {
    /// Why.
    pub kind: RefusalKind,
    /// What is wrong and how to mend it, for the caller.
    pub message: Cow<'static, str>,
    /// The member of the request at fault, as a path such as `messages[2].content`.
    pub param: Option<String>,
    /// The vendor's own word, where its clients look for one; else the kind's.
    pub code: Option<&'static str>,
    /// When to try again; always set for 429 and 503.
    pub retry_after: Option<Duration>,
    /// What was tried before giving up.
    pub attempts: Vec<Attempt>,
}

impl Refusal {
    /// A refusal of this kind; 429 and 503 get a retry hint of one second.
    pub fn new(kind: RefusalKind, message: impl Into<Cow<'static, str>>) -> Self {
        let hint = matches!(kind, RefusalKind::RateLimited | RefusalKind::Overloaded);
        Self {
            kind,
            message: message.into(),
            param: None,
            code: None,
            retry_after: hint.then_some(Duration::from_secs(1)),
            attempts: Vec::new(),
        }
    }

    /// A 400 that names the member at fault.
    pub fn invalid(param: impl Into<String>, message: impl Into<Cow<'static, str>>) -> Self {
        Self { param: Some(param.into()), ..Self::new(RefusalKind::InvalidRequest, message) }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.kind.name(), self.message)
    }
}

impl std::error::Error for Refusal {}

/// One try at one target, as told to the client and the log.
#[derive(Debug, Clone)]
pub struct Attempt {
    /// `provider/model`.
    pub target: Box<str>,
    /// The status that the upstream gave, if it gave one.
    pub status: Option<u16>,
    /// What happened, in one of our fixed words (`rate_limited`, `connect_failed`, ...).
    pub cause: &'static str,
    /// How long the attempt took.
    pub time: Duration,
}

/// The vendors' common categories of errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Category {
    /// Malformed, or not possible for this model.
    InvalidRequest,
    /// The prompt does not fit into the model's context.
    ContextTooLong,
    /// The provider's policy forbids the content.
    ContentPolicy,
    /// A member that this model does not take, though another model might.
    UnsupportedParameter,
    /// Bad credentials.
    Authentication,
    /// Good credentials without the right.
    Permission,
    /// No such model or path.
    NotFound,
    /// The body is too large.
    TooLarge,
    /// Too many requests or tokens.
    RateLimit,
    /// Money or quota is used up; waiting does not help.
    Quota,
    /// The provider has no capacity now.
    Overloaded,
    /// It took too long.
    Timeout,
    /// The provider failed.
    Api,
}

/// An error of the upstream: a status outside 2xx, an error event in a stream, or a body that makes no sense.
#[derive(Debug, Clone)]
pub struct Fault {
    /// The status; for an error event inside a 200 the status that the vendor gives for its type.
    pub status: u16,
    /// What kind of error the provider reported.
    pub category: Category,
    /// The provider's message, at most 2 KB; for a body that is not the vendor's JSON an excerpt of its text.
    pub message: String,
    /// The vendor's own code or type, as it stood.
    pub code: Option<String>,
    /// The vendor's `param`.
    pub param: Option<String>,
    /// The error as the vendor wrote it, for clients of the same dialect; empty where it was not JSON.
    pub body: Bytes,
}

/// What a client is told, to be written in its dialect.
#[derive(Debug, Clone, Copy)]
pub struct Failure<'a> {
    /// The status of the answer.
    pub status: u16,
    /// Which vendor error type fits.
    pub category: Category,
    /// For people.
    pub message: &'a str,
    /// A fixed word: a `RefusalKind` name or the vendor's code.
    pub code: Option<&'a str>,
    /// The member at fault.
    pub param: Option<&'a str>,
    /// What was tried.
    pub attempts: &'a [Attempt],
    /// Ours, so that a report can be matched to the log.
    pub request_id: &'a str,
}

/// Writes what was tried as the member `attempts` of the object that is open, if there was anything.
pub(crate) fn write_attempts(attempts: &[Attempt], out: &mut crate::json::Writer) {
    if attempts.is_empty() {
        return;
    }
    out.key("attempts");
    out.begin_array();
    for attempt in attempts {
        out.begin_object();
        out.key("target");
        out.string(&attempt.target);
        out.key("status");
        match attempt.status {
            Some(status) => out.u64(status.into()),
            None => out.null(),
        }
        out.key("cause");
        out.string(attempt.cause);
        out.key("ms");
        out.u64(u64::try_from(attempt.time.as_millis()).unwrap_or(u64::MAX));
        out.end_object();
    }
    out.end_array();
}
