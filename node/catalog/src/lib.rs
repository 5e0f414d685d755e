//! Models of vendors: what they can, how much they take, what they cost. No I/O, no clock; the data is in the binary.

mod words;
pub use words::{Feature, Kind, Modality};

mod unit;
pub use unit::Unit;

mod counts;
pub use counts::{Counts, Totals};

mod price;
pub use price::{Price, Rates, Step};

mod cost;
pub use cost::Terms;

mod schema;

mod entry;
pub use entry::Entry;

mod model;
pub use model::Model;

mod problem;
pub use problem::{Place, Problem, Problems};

mod lines;

mod names;

mod catalog;
pub use catalog::Catalog;
