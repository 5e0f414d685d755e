//! The gateway document: parse, validate, and compile to the snapshot that requests read. No I/O, no clock.

mod document;
pub use document::{
    CallerKey, Document, Fallback, MockFaults, ModelGroup, OnDisconnect, PreviousKey, ProviderEntry,
    ProviderKey, ProxyUrl, Retries, Settings, Strategy, TargetEntry, Timeouts, TlsEntry,
};

mod owners;
pub use owners::{CustomerEntry, TeamEntry, UserEntry};

mod limit_entry;
pub use limit_entry::{
    BudgetEntry, BudgetOverride, LimitEntry, LimitOverride, ProviderLimits, Usd, WeekStart,
};

mod cloud;
pub use cloud::{
    AwsAssumeRole, AwsContainer, AwsInstance, AwsKey, AwsWebIdentity, EntraKey, EntraManagedIdentity,
    GoogleKey, GoogleMetadata,
};

mod problem;
pub use problem::{Problem, Problems};

mod path;
mod suggest;

mod structure;

mod parse;
pub use parse::{parse, schema, to_yaml};

mod entity;
pub use entity::{Difference, Entity, Kind, differences, dump, gather, join, secret_values, split};

mod pattern;

mod passthrough;
pub use passthrough::{NotAllowed, Passthrough};

mod limit;
pub use limit::{AtLimit, Limit, Limits, Measure, Mode, OnPartition, OnShort, Override, Owner, OwnerKind};

mod access;
pub use access::{Access, Network, RequiredHeader};

mod callers;
pub use callers::{Caller, Callers, FirstBytes, Grants};

mod snapshot;
pub use snapshot::{
    Credential, Derived, Group, MockSettings, ProviderConfig, ProviderKind, ResolvedTarget, RetryPolicy,
    Snapshot, TargetConfig, TimeLimits,
};

mod signing;
pub use signing::SigningPair;

mod resolve;

mod hash;
pub use hash::{hash_key, hash_text};

mod compile;
pub use compile::{Compilation, Compiled, Membership, Secrets, compile, is_masked};

mod load;
pub use load::load;

mod dev;
pub use dev::dev_document;

pub mod import;
