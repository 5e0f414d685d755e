//! What providers keep (answers, files, batches), and the ids that lead there.

pub(crate) mod stored;
pub use stored::{Act, Item};

mod batch;

mod ids;
pub(crate) use ids::{Ids, Minter};

mod pin;
pub(crate) use pin::{Pin, elsewhere, pin, sole_route};

pub(crate) mod proof;
pub(crate) use proof::route_mark;
