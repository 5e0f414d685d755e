//! The counters on which limits stand: windows, cells that merge, admission. No I/O, no clock: time is an argument.
//!
//! One request on one node, and what is left of it after a restart:
//!
//! ```
//! # use trestle_counters::*;
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let own = Actor { node: NodeId(1), incarnation: 1 };
//! let (node, _changes) = counters(own, 1_000_000);
//! let alone = Table::new(own, 0);
//! let leases = Leases::new(10_000); // one for each data thread
//!
//! let (now_ms, day) = (1_800_000_000_000, Window::Calendar(Calendar::Day));
//! let id = CounterId { limit: LimitId(7), subject: Subject(0), window: day };
//! let counter = node.open(id, &alone, now_ms)?; // kept beside the limit
//! let charge = |amount| [Charge { counter: &counter, amount, limit: 1_000.into() }];
//!
//! let mut permit = leases.admit(&charge(600), now_ms, now_ms + 60_000)?;
//! permit.extend(&charge(300), now_ms)?; // a dearer target comes next
//! let refused = leases.admit(&charge(200), now_ms, now_ms + 60_000);
//! assert!(matches!(refused, Err(NotAdmitted::Refused(Refused { left: 100, .. }))));
//!
//! let line: Vec<_> = permit.held().map(|held| held.settlement(750)).collect();
//! permit.settle(|_| 750); // once the line is in the journal
//! leases.sweep(now_ms + 60_000); // from time to time
//! assert_eq!((counter.view(now_ms).spent, counter.view(now_ms).held), (750, 0));
//!
//! let mut settled = Settled::new(1_000_000);
//! for settlement in line {
//!     settled.add(settlement)?;
//! }
//! let (mut again, _changes) = counters(Actor { incarnation: 2, ..own }, 1_000_000);
//! again.restore(&settled);
//! assert_eq!(again.open(id, &alone, now_ms)?.view(now_ms).spent, 750);
//! # Ok(())
//! # }
//! ```

mod civil;

mod calendar;
pub use calendar::{Calendar, Month, Weekday};

mod window;
pub use window::{LENGTH_MS_MAX, PARTS_MAX, Rolling, Window, WindowError, WindowId};

mod cell;
pub use cell::{Actor, Cell, CellId, CounterId, LimitId, NodeId, Subject, Totals};

mod live;

mod shares;
pub use shares::{FixedShares, NotFixed, Share, Shares};

mod rights;
pub use rights::{Bound, Rights, Rule};

mod view;
pub use view::{Refused, View};

mod counter;
pub use counter::Counter;

mod hold;
pub use hold::Held;

mod permit;
pub use permit::{Charge, NotAdmitted, Permit};

mod lease;
pub use lease::{Expired, Leases};

mod hash;

mod table;
pub use table::{BUCKETS, Merged, Table};

mod counters;
pub use counters::{Counters, CountersFull, counters};

mod settled;
pub use settled::{Damaged, Settled, SettledFull, Settlement};

mod changes;
pub use changes::{Changes, Collected};

mod cells;
pub use cells::{Cells, Delta, Page, Taken};

#[cfg(test)]
mod tests;
