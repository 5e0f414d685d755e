//! The counters on which limits stand: windows, cells that merge, admission. No I/O, no clock: time is an argument.

mod civil;

mod calendar;
pub use calendar::{Calendar, Month, Weekday};

mod window;
pub use window::{LENGTH_MS_MAX, PARTS_MAX, Rolling, Window, WindowError, WindowId};

mod cell;
pub use cell::{Actor, Cell, CellId, CounterId, LimitId, NodeId, Subject, Totals};

mod live;

mod counter;
pub use counter::{Counter, Refused};

mod permit;
pub use permit::{Charge, Hold, Permit, admit};

mod hash;

mod table;
pub use table::{BUCKETS, Merged, Table};

mod counters;
pub use counters::{Counters, CountersFull, counters};

mod changes;
pub use changes::{Changes, Collected};

#[cfg(test)]
mod tests;
