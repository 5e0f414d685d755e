//! The ledger on disk: one line for each call of a provider, announced before it is made and settled once.
//!
//! Data threads write ([`Journal`]); all else (sync, recovery, questions) may wait for the disk and belongs elsewhere.

mod line;
pub use line::{
    Basis, CHARGES_MAX, Charge, Intent, Line, Outcome, OutcomeKind, Owner, TAGS_MAX, TEXT_BYTES_MAX,
    TOKEN_KINDS, Tokens,
};

mod journal;
pub use journal::{AnnounceError, Entry, Journal};

mod ledger;
pub use ledger::{Lag, Ledger, Options, Room, Short, Tended};

mod position;
pub use position::{Position, PositionError};

mod replay;
pub use replay::Change;

mod query;
pub use query::{Cursor, CursorError, PAGE_LINES_MAX, Page, Query};

mod sums;
pub use sums::{Dimension, GROUPS_MAX, Sum, SumsError};

mod rows;
pub use rows::Totals;

mod recover;
pub use recover::{Damage, Recovery};

mod folder;
pub use folder::OpenError;

mod copyable;
pub use copyable::{Copyable, Piece};

mod copies;
pub use copies::{Chunk, Copied, Copies, CopyError};

mod bytes;
mod civil;
mod map;
mod payload;
mod record;
mod segment;
pub use segment::Name;

mod settled;
mod source;
mod summary;

#[cfg(test)]
mod tests;
