//! Vendors as data: a row for each, and the little that a call to one needs beside its wire format. No I/O
//! and no clock but in `credential`.

mod operation;
pub use operation::{Endpoints, Operation, Stream};

mod row;
pub use row::{Auth, Cloud, Row};

mod registry;
pub use registry::{listed, provider};

mod provider;
pub use provider::{Origin, Provider};

mod address;
pub use address::{is_forbidden_address, is_private_address};

mod proxy;
pub use proxy::Proxy;

mod url;

mod variables;

mod headers;

mod listed;
pub use listed::Listed;

mod coded;

pub mod credential;

mod sigv4;
pub use sigv4::Signable;

mod presented;
pub use presented::{AWS_SCHEME, AwsSignature, Received};
