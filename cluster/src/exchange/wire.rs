//! Cells as they travel, and what is wrong with those that cannot be.

use trestle_counters::{Actor, Cell, CellId, CounterId, LimitId, NodeId, Subject, Totals, Window, WindowId};
use trestle_proto::counters as proto;

/// Most bytes of one message. The bounds below keep it: a cell has at most 100 bytes.
pub(super) const MESSAGE_BYTES_MAX: usize = 1 << 20;
/// Most cells of one message of changes.
pub(super) const DELTA_CELLS_MAX: usize = 2_000;
/// Most cells of one message of a repair.
pub(super) const PAGE_CELLS_MAX: usize = 8_000;

/// A message that no node of this cluster sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum Malformed {
    #[error("a message has {0} cells, more than it may")]
    Cells(usize),
    #[error("a cell has the window {0}, which is none: the sender may be of a later version")]
    Window(u64),
    #[error("the first message does not say who sends it")]
    Nobody,
}

impl From<Malformed> for tonic::Status {
    fn from(malformed: Malformed) -> Self {
        Self::invalid_argument(malformed.to_string())
    }
}

pub(super) fn to_actor(actor: Actor) -> proto::Actor {
    proto::Actor { node: actor.node.0, incarnation: actor.incarnation }
}

pub(super) fn from_actor(actor: Option<&proto::Actor>) -> Result<Actor, Malformed> {
    let actor = actor.ok_or(Malformed::Nobody)?;
    Ok(Actor { node: NodeId(actor.node), incarnation: actor.incarnation })
}

/// A cell with its actor.
pub(super) fn to_cell(cell: &Cell) -> proto::Cell {
    let CellId { counter, window_id, actor } = cell.id;
    let subject = counter.subject.0;
    proto::Cell {
        limit: counter.limit.0,
        // Both halves, each cut to 64 bits.
        subject_low: subject as u64,
        subject_high: (subject >> 64) as u64,
        window: counter.window.to_word(),
        window_id: window_id.0,
        charged: cell.totals.charged,
        refunded: cell.totals.refunded,
        node: actor.node.0,
        incarnation: actor.incarnation,
    }
}

pub(super) fn to_cells(cells: &[Cell]) -> Vec<proto::Cell> {
    cells.iter().map(to_cell).collect()
}

/// Cells of the one who sends them: who that is was said before.
pub(super) fn to_own_cells(cells: &[Cell]) -> Vec<proto::Cell> {
    cells.iter().map(|cell| proto::Cell { node: 0, incarnation: 0, ..to_cell(cell) }).collect()
}

pub(super) fn from_cell(cell: &proto::Cell) -> Result<Cell, Malformed> {
    let counter = CounterId {
        limit: LimitId(cell.limit),
        subject: Subject(u128::from(cell.subject_high) << 64 | u128::from(cell.subject_low)),
        window: Window::from_word(cell.window).ok_or(Malformed::Window(cell.window))?,
    };
    let actor = Actor { node: NodeId(cell.node), incarnation: cell.incarnation };
    let id = CellId { counter, window_id: WindowId(cell.window_id), actor };
    Ok(Cell { id, totals: Totals { charged: cell.charged, refunded: cell.refunded } })
}

pub(super) fn from_cells(cells: &[proto::Cell]) -> Result<Vec<Cell>, Malformed> {
    within(cells, PAGE_CELLS_MAX)?.iter().map(from_cell).collect()
}

/// Cells of the one who sent them.
pub(super) fn from_own_cells(cells: &[proto::Cell], actor: Actor) -> Result<Vec<Cell>, Malformed> {
    let own = |cell| from_cell(cell).map(|cell| Cell { id: CellId { actor, ..cell.id }, ..cell });
    within(cells, DELTA_CELLS_MAX)?.iter().map(own).collect()
}

fn within(cells: &[proto::Cell], most: usize) -> Result<&[proto::Cell], Malformed> {
    if cells.len() > most { Err(Malformed::Cells(cells.len())) } else { Ok(cells) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use trestle_proto::prost::Message;

    fn cell() -> impl Strategy<Value = Cell> {
        let window = prop_oneof![
            Just(Window::Standing),
            Just(Window::week(trestle_counters::Weekday::Sunday)),
            (1u64..1_000_000, 1u32..60)
                .prop_filter_map("a window", |(length, parts)| { Window::rolling(length, parts).ok() }),
        ];
        let numbers = (any::<u64>(), any::<u128>(), any::<u64>(), any::<(u64, u64)>(), any::<(u64, u64)>());
        (window, numbers).prop_map(|(window, (limit, subject, window_id, actor, totals))| Cell {
            id: CellId {
                counter: CounterId { limit: LimitId(limit), subject: Subject(subject), window },
                window_id: WindowId(window_id),
                actor: Actor { node: NodeId(actor.0), incarnation: actor.1 },
            },
            totals: Totals { charged: totals.0, refunded: totals.1 },
        })
    }

    proptest! {
        #[test]
        fn a_cell_arrives_as_it_was_sent(cell in cell()) {
            prop_assert_eq!(from_cell(&to_cell(&cell)), Ok(cell));
            let own = from_own_cells(&to_own_cells(&[cell]), cell.id.actor);
            prop_assert_eq!(own, Ok(vec![cell]));
        }
    }

    #[test]
    fn the_largest_messages_are_within_their_bound() {
        let most = proto::Cell {
            limit: u64::MAX,
            subject_low: u64::MAX,
            subject_high: u64::MAX,
            window: u64::MAX,
            window_id: u64::MAX,
            charged: u64::MAX,
            refunded: u64::MAX,
            node: u64::MAX,
            incarnation: u64::MAX,
        };
        let actor = proto::Actor { node: u64::MAX, incarnation: u64::MAX };
        let swap = proto::Swap {
            buckets: vec![9; 256].into(),
            after: Some(most),
            cells: vec![most; PAGE_CELLS_MAX],
        };
        let question = proto::RepairQuestion {
            caller: Some(actor),
            question: Some(proto::repair_question::Question::Swap(swap)),
        };
        assert!(question.encoded_len() < MESSAGE_BYTES_MAX, "{}", question.encoded_len());
    }

    #[test]
    fn what_is_not_understood_is_refused() {
        let none = proto::Cell { window: 255, ..proto::Cell::default() };
        assert_eq!(from_cell(&none), Err(Malformed::Window(255)));
        assert_eq!(from_cells(&vec![none; PAGE_CELLS_MAX + 1]), Err(Malformed::Cells(PAGE_CELLS_MAX + 1)));
        assert_eq!(from_actor(None), Err(Malformed::Nobody));
    }
}
