//! Vendors as data: a row for each, and the little that a call to one needs beside its wire format. No I/O, no clock.

mod row;
pub use row::{Auth, Endpoints, Row};

mod registry;
pub use registry::listed;

mod provider;
pub use provider::{Listed, Operation, Origin, Provider};
