//! What a line of the ledger says: announced as an intent before the call, settled by an outcome after it.

/// Most bytes of a text in a line. What is longer is cut at the last whole character before.
pub const TEXT_BYTES_MAX: usize = 256;
/// Most tags of a line; those after it are left out.
pub const TAGS_MAX: usize = 32;
/// Most charges of a call; more are refused. A document binds a request by 112 limits at most: 16 of each of seven owners.
pub const CHARGES_MAX: usize = 128;

/// A call that is about to be made. Texts are cut at [`TEXT_BYTES_MAX`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Intent<'a> {
    /// The call, ours; a request may make several.
    pub call: u128,
    /// The request as clients see it in `x-request-id`.
    pub request_id: &'a str,
    /// Which attempt of the request it is, from 1.
    pub attempt: u32,
    /// When it begins (unix milliseconds).
    pub start_ms: u64,
    /// Who asks, as far as known.
    pub owner: Owner<&'a str>,
    /// Tags of the caller.
    pub tags: &'a [Box<str>],
    /// The model that was asked for.
    pub model: &'a str,
    /// The provider that is called.
    pub provider: &'a str,
    /// The name of its credential.
    pub credential: &'a str,
    /// What the vendor calls the model.
    pub vendor_model: &'a str,
    /// What is asked of it.
    pub operation: &'a str,
    /// It is a part of a batch.
    pub batch: bool,
    /// The service tier that is asked for.
    pub service_tier: &'a str,
    /// The prices that the money is reckoned by.
    pub price_version: u64,
    /// Tokens by which the line is closed if the process dies.
    pub tokens: Tokens,
    /// Money by which it is closed then.
    pub nano_usd: u64,
    /// What was reserved for it, cell by cell.
    pub charges: &'a [Charge],
}

/// Names of those that a call is counted for; an empty text where there is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Owner<T> {
    /// The customer.
    pub customer: T,
    /// The team.
    pub team: T,
    /// The user.
    pub user: T,
    /// The key.
    pub key: T,
}

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Outcome<'a> {
    /// When it ended (unix milliseconds). A line is of this time in all that is read later.
    pub end_ms: u64,
    /// How.
    pub kind: OutcomeKind,
    /// The status of the provider's answer; 0 if there was none.
    pub status: u16,
    /// Where tokens and money are from.
    pub basis: Basis,
    /// Tokens that were used.
    pub tokens: Tokens,
    /// What it cost.
    pub nano_usd: u64,
    /// The service tier that served it, where the provider says so; else the one that was asked for stays.
    pub service_tier: &'a str,
    /// What each charge of the intent has come to, in the same order. Charges that none is told for stay as reserved.
    pub amounts: &'a [u64],
}

/// What was reserved in one cell. The ledger does not look into it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Charge {
    /// The limit.
    pub limit: u64,
    /// Whom it counts.
    pub subject: u128,
    /// The kind of its window, by a number of the caller's.
    pub window_kind: u64,
    /// The number of the window.
    pub window: u64,
    /// How much.
    pub amount: u64,
}

/// Tokens and other units, by kind. Kinds do not overlap: `input` is without what was read from or written to a cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[allow(missing_docs)] // the names say it
pub struct Tokens {
    pub input: u64,
    pub cached_read: u64,
    pub cache_write_5m: u64,
    pub cache_write_1h: u64,
    pub output: u64,
    pub reasoning: u64,
    pub audio_in: u64,
    pub audio_out: u64,
    pub image_in: u64,
    pub image_out: u64,
    /// Images, counted.
    pub images: u64,
    /// Sound, in milliseconds.
    pub audio_ms: u64,
    /// Characters of text.
    pub characters: u64,
}

/// How many kinds [`Tokens`] has.
pub const TOKEN_KINDS: usize = 13;

impl Tokens {
    /// All kinds in the order in which they are on the disk: a new one goes to the end.
    pub const fn to_array(self) -> [u64; TOKEN_KINDS] {
        [
            self.input,
            self.cached_read,
            self.cache_write_5m,
            self.cache_write_1h,
            self.output,
            self.reasoning,
            self.audio_in,
            self.audio_out,
            self.image_in,
            self.image_out,
            self.images,
            self.audio_ms,
            self.characters,
        ]
    }

    /// Of all kinds, in that order.
    pub const fn from_array(of: [u64; TOKEN_KINDS]) -> Self {
        let [input, cached_read, cache_write_5m, cache_write_1h, output, reasoning, audio_in, ..] = of;
        let [.., audio_out, image_in, image_out, images, audio_ms, characters] = of;
        Self {
            input,
            cached_read,
            cache_write_5m,
            cache_write_1h,
            output,
            reasoning,
            audio_in,
            audio_out,
            image_in,
            image_out,
            images,
            audio_ms,
            characters,
        }
    }
}

/// Where tokens and money of a line are from. The numbers are on the disk: they never change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[repr(u8)]
pub enum Basis {
    /// The provider said so.
    Reported = 0,
    /// Estimated by us, never below what was relayed.
    #[default]
    Estimated = 1,
}

/// How a call ended. The numbers are on the disk: they never change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[repr(u8)]
pub enum OutcomeKind {
    /// Answered in full.
    #[default]
    Ok = 0,
    /// The provider found fault with the request.
    ClientError = 1,
    /// The provider failed, or could not be reached.
    ProviderError = 2,
    /// It took too long.
    Timeout = 3,
    /// The client left.
    Cancelled = 4,
    /// A panic of ours.
    Panicked = 5,
    /// The process ended before the call did.
    Killed = 6,
    /// The answer broke off after its first content.
    Broken = 7,
    /// Ended by us: a guard, a drain, a limit.
    Stopped = 8,
    /// Written by a later version.
    Other = 255,
}

impl OutcomeKind {
    /// All that can be written, in the order of their numbers.
    pub const ALL: [Self; 9] = [
        Self::Ok,
        Self::ClientError,
        Self::ProviderError,
        Self::Timeout,
        Self::Cancelled,
        Self::Panicked,
        Self::Killed,
        Self::Broken,
        Self::Stopped,
    ];

    /// The word for it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::ClientError => "client_error",
            Self::ProviderError => "provider_error",
            Self::Timeout => "timeout",
            Self::Cancelled => "cancelled",
            Self::Panicked => "panicked",
            Self::Killed => "killed",
            Self::Broken => "broken",
            Self::Stopped => "stopped",
            Self::Other => "other",
        }
    }

    /// The kind that a word names.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    pub(crate) fn numbered(number: u8) -> Self {
        Self::ALL.into_iter().find(|kind| *kind as u8 == number).unwrap_or(Self::Other)
    }
}

impl Basis {
    /// The word for it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Reported => "reported",
            Self::Estimated => "estimated",
        }
    }

    pub(crate) fn numbered(number: u8) -> Self {
        if number == Self::Reported as u8 { Self::Reported } else { Self::Estimated }
    }
}

/// A settled line, as it is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// The call, ours.
    pub call: u128,
    /// The request as clients see it in `x-request-id`.
    pub request_id: Box<str>,
    /// Which attempt of the request it was, from 1.
    pub attempt: u32,
    /// When it began (unix milliseconds).
    pub start_ms: u64,
    /// When it ended (unix milliseconds).
    pub end_ms: u64,
    /// Who asked.
    pub owner: Owner<Box<str>>,
    /// Tags of the caller.
    pub tags: Vec<Box<str>>,
    /// The model that was asked for.
    pub model: Box<str>,
    /// The provider that was called.
    pub provider: Box<str>,
    /// The name of its credential.
    pub credential: Box<str>,
    /// What the vendor calls the model.
    pub vendor_model: Box<str>,
    /// What was asked of it.
    pub operation: Box<str>,
    /// It is a part of a batch.
    pub batch: bool,
    /// The service tier; empty if there is none.
    pub service_tier: Box<str>,
    /// The prices that the money is reckoned by.
    pub price_version: u64,
    /// How it ended.
    pub outcome: OutcomeKind,
    /// The status of the provider's answer; 0 if there was none.
    pub status: u16,
    /// Where tokens and money are from.
    pub basis: Basis,
    /// Tokens that were used.
    pub tokens: Tokens,
    /// What it cost.
    pub nano_usd: u64,
}
