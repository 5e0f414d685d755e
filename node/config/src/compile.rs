//! Document to snapshot, or all problems at once.

use crate::{Document, Problem, Problems, Snapshot};

/// Where secrets come from: the caller does the I/O. Errors are public text without the secret.
pub trait Secrets {
    /// A variable of the environment.
    fn env(&self, name: &str) -> Result<String, String>;
    /// A file, trailing line ends removed.
    fn file(&self, path: &str) -> Result<String, String>;
}

/// A snapshot, and what is not right but does not hinder it (a missing reference disables that credential).
#[derive(Debug)]
pub struct Compiled {
    /// For requests.
    pub snapshot: Snapshot,
    /// For the operator.
    pub warnings: Vec<Problem>,
}

/// Compiles a document, or says everything that is wrong with it.
#[allow(unused_variables, clippy::unimplemented)]
pub fn compile(document: &Document, revision: u64, secrets: &dyn Secrets) -> Result<Compiled, Problems> {
    unimplemented!()
}
