//! Where a gateway document comes from.

use crate::{
    control::NodeSecrets,
    files::{self, DOCUMENT_BYTES_MAX},
};
use std::path::{Path, PathBuf};
use trestle_config::{CallerKey, Compiled, Document, Problems, dev_document, load, parse};

/// Where the document comes from.
#[derive(Debug)]
pub(crate) enum Source {
    /// A file.
    File(PathBuf),
    /// Made by this process.
    Made(Box<Document>),
}

/// Which vendors a made document may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum VendorKeys {
    /// Those that have a key in the environment.
    Environment,
    /// None: only the built-in mock.
    Ignored,
}

/// Why there is no document.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LoadError {
    /// The file cannot be read.
    #[error("cannot read {}: {cause}", path.display())]
    Unreadable {
        /// Which.
        path: PathBuf,
        /// Why.
        cause: std::io::Error,
    },
    /// The document is wrong.
    #[error("the document is not valid:\n{0}")]
    Invalid(Problems),
}

impl Source {
    /// One caller, known by the hash of its key as it stands in a document, and the vendors.
    pub(crate) fn environment(caller: String, keys: VendorKeys) -> Self {
        let mut document = match keys {
            VendorKeys::Environment => dev_document(|name| std::env::var(name).ok()),
            VendorKeys::Ignored => Document::default(),
        };
        let caller = CallerKey { value: caller, ..CallerKey::default() };
        document.keys.insert("application".to_owned(), caller);
        Self::Made(Box::new(document))
    }

    /// The document. Where its form is wrong, what is wrong in its meaning is told as well.
    pub(crate) fn read(&self) -> Result<Document, LoadError> {
        match self {
            Self::File(path) => {
                let text = text(path)?;
                parse(&text).map_err(|problems| LoadError::Invalid(all_problems(&text, problems)))
            }
            Self::Made(document) => Ok(document.as_ref().clone()),
        }
    }
}

/// All that is wrong with a text of whose form something is.
pub(crate) fn all_problems(text: &str, of_form: Problems) -> Problems {
    load(text, 1, &NodeSecrets::unsealed()).err().unwrap_or(of_form)
}

/// Reads and compiles the document of a file, with the references of this machine.
pub(crate) fn compile_file(path: &Path) -> Result<Compiled, LoadError> {
    load(&text(path)?, 1, &NodeSecrets::unsealed()).map_err(LoadError::Invalid)
}

fn text(path: &Path) -> Result<String, LoadError> {
    files::text(path, DOCUMENT_BYTES_MAX)
        .map_err(|cause| LoadError::Unreadable { path: path.to_owned(), cause })
}
