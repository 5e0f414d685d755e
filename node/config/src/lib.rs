//! The gateway document: parse, validate, and compile to the snapshot that requests read. No I/O, no clock.

mod document;
pub use document::{
    CallerKey, Document, Fallback, MockFaults, ModelGroup, OnDisconnect, ProviderEntry, ProviderKey, Retries,
    Settings, Strategy, TargetEntry, Timeouts, TlsEntry,
};

mod problem;
pub use problem::{Problem, Problems};

mod parse;
pub use parse::{parse, schema};

mod snapshot;
pub use snapshot::{
    Caller, Credential, Grants, Group, MockSettings, ProviderConfig, ProviderKind, ResolvedTarget,
    RetryPolicy, Snapshot, TargetConfig, TimeLimits,
};

mod compile;
pub use compile::{Compiled, Secrets, compile};
