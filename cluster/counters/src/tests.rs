//! What the tests share, and those of several parts together.

use crate::{Actor, Calendar, Cell, CellId, CounterId, LimitId, NodeId, Subject, Totals, Window, WindowId};

mod cut;
mod model;
mod nodes;
mod threads;

pub(crate) const MINUTE: Window = Window::Calendar(Calendar::Minute);
pub(crate) const MINUTE_MS: u64 = 60_000;

pub(crate) fn actor(node: u64, incarnation: u64) -> Actor {
    Actor { node: NodeId(node), incarnation }
}

pub(crate) fn counter_id(limit: u64, window: Window) -> CounterId {
    CounterId { limit: LimitId(limit), subject: Subject(7), window }
}

pub(crate) fn cell(counter: CounterId, window_id: u64, actor: Actor, totals: (u64, u64)) -> Cell {
    let (charged, refunded) = totals;
    let id = CellId { counter, window_id: WindowId(window_id), actor };
    Cell { id, totals: Totals { charged, refunded } }
}
