//! What one request did: the source of its log line and its metrics.

use crate::{
    Endpoint,
    limits::Account,
    route::{LeftOut, Plan},
    spans::{Marks, Noted},
};
use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};
use trestle_config::{Caller, Limit, TargetConfig};
use trestle_counters::WindowId;
use trestle_dialect::{Attempt, ir::Usage};

/// How a request ended, in a closed set of words.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub(crate) enum Outcome {
    /// The client left, or the request was cut off, before it was settled otherwise.
    #[default]
    Cancelled,
    /// Answered in full.
    Ok,
    /// Refused by us; the kind's name.
    Refused(&'static str),
    /// The upstream's error was passed on; its cause.
    Fault(&'static str),
    /// The answer broke off after its first content; the cause.
    Broken(&'static str),
    /// A panic of ours.
    Panic,
}

impl Outcome {
    /// The word for logs and metrics.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Cancelled => "cancelled",
            Self::Ok => "ok",
            Self::Refused(_) => "refused",
            Self::Fault(_) => "fault",
            Self::Broken(_) => "broken",
            Self::Panic => "panic",
        }
    }

    /// The finer word.
    pub(crate) const fn cause(self) -> Option<&'static str> {
        match self {
            Self::Refused(cause) | Self::Fault(cause) | Self::Broken(cause) => Some(cause),
            Self::Cancelled | Self::Ok | Self::Panic => None,
        }
    }
}

/// 32 hexadecimal digits.
pub(crate) fn hex(id: u128) -> [u8; 32] {
    std::array::from_fn(|i| b"0123456789abcdef"[(id >> (124 - 4 * i)) as usize & 15])
}

/// What one request did.
#[derive(Debug)]
pub(crate) struct Record {
    /// Ours; 128 random bits.
    pub(crate) id: u128,
    /// The client's own id, kept beside ours and never used as an identity; at most 128 bytes.
    pub(crate) client_id: Option<Box<str>>,
    /// When it began.
    pub(crate) at: SystemTime,
    /// What was asked.
    pub(crate) endpoint: Endpoint,
    /// Who asked.
    pub(crate) caller: Option<Arc<Caller>>,
    /// The model as the client named it; at most 256 bytes.
    pub(crate) model: Box<str>,
    /// Who answered, or was tried last.
    pub(crate) target: Option<Arc<TargetConfig>>,
    /// Where it could go, in order.
    pub(crate) plan: Plan,
    /// Where it could not.
    pub(crate) left_out: Vec<LeftOut>,
    /// Its limits.
    pub(crate) account: Account,
    /// Every try.
    pub(crate) attempts: Vec<Attempt>,
    /// The status that the client got.
    pub(crate) status: u16,
    /// How it ended.
    pub(crate) outcome: Outcome,
    /// It was streamed.
    pub(crate) stream: bool,
    /// Tokens, as the upstream reported them.
    pub(crate) usage: Option<Usage>,
    /// Calls of providers that were made.
    pub(crate) calls: u32,
    /// What they cost; nothing before the first has ended.
    pub(crate) nano_usd: Option<u64>,
    /// Not all of that is as reported.
    pub(crate) estimated: bool,
    /// The limit that the bound on the answer was lowered for, and to what.
    pub(crate) clamped: Option<Box<(String, u64)>>,
    /// The model that a limit sent the request to.
    pub(crate) downgraded: Option<Box<str>>,
    /// Limits that have come to a percent at which they warn.
    pub(crate) warnings: Vec<(Arc<Limit>, WindowId, u8)>,
    /// The client gets the trace.
    pub(crate) traced: bool,
    /// Bytes of the request's body.
    pub(crate) bytes_in: u64,
    /// Bytes of the answer's body.
    pub(crate) bytes_out: u64,
    /// Content events of a stream.
    pub(crate) events: u32,
    /// From the start to the first content.
    pub(crate) first: Option<Duration>,
    /// The upstream's own time: from sending the last attempt to its head.
    pub(crate) upstream: Option<Duration>,
    /// From the start to the end.
    pub(crate) total: Duration,
    /// What came when.
    pub(crate) marks: Marks,
    /// Its place in a trace, where requests are traced.
    pub(crate) noted: Option<Box<Noted>>,
}

impl Record {
    /// Our id, 32 hexadecimal digits.
    pub(crate) fn id_hex(&self) -> [u8; 32] {
        hex(self.id)
    }

    /// The same as text.
    pub(crate) fn id_text(&self) -> String {
        self.id_hex().map(char::from).iter().collect()
    }

    /// A record of what began at that time.
    pub(crate) fn new(id: u128, endpoint: Endpoint, at: SystemTime) -> Self {
        Self {
            id,
            client_id: None,
            at,
            endpoint,
            caller: None,
            model: Box::default(),
            target: None,
            plan: Plan::new(),
            left_out: Vec::new(),
            account: Account::default(),
            attempts: Vec::new(),
            status: 0,
            outcome: Outcome::default(),
            stream: false,
            usage: None,
            calls: 0,
            nano_usd: None,
            estimated: false,
            clamped: None,
            downgraded: None,
            warnings: Vec::new(),
            traced: false,
            bytes_in: 0,
            bytes_out: 0,
            events: 0,
            first: None,
            upstream: None,
            total: Duration::ZERO,
            marks: Marks::default(),
            noted: None,
        }
    }
}
