//! Where the gateway document comes from, and the secrets that it refers to.

use crate::files::{ReadFiles, SECRET_BYTES_MAX};
use std::{
    cell::RefCell,
    path::{Path, PathBuf},
};
use trestle_config::{CallerKey, Compiled, Document, Problems, Secrets, compile, dev_document, load};

/// Largest document: 100,000 keys are about 15 MB.
const DOCUMENT_BYTES_MAX: u64 = 256 * 1024 * 1024;

/// Where the document comes from.
#[derive(Debug)]
pub(crate) enum Source {
    /// A file, read anew for each load.
    File(PathBuf),
    /// Made by this process; only the secrets are read anew.
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

/// One attempt to load a document.
#[derive(Debug)]
pub(crate) struct Load {
    /// What was made of it.
    pub(crate) outcome: Result<Compiled, LoadError>,
    /// The files that it was made of, readable or not.
    pub(crate) read: ReadFiles,
}

/// Why there is no snapshot.
#[derive(Debug)]
pub(crate) enum LoadError {
    /// The file cannot be read.
    Unreadable {
        /// Which.
        path: PathBuf,
        /// Why.
        cause: std::io::Error,
    },
    /// The document is wrong.
    Invalid(Problems),
}

impl std::fmt::Display for LoadError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Unreadable { path, cause } => write!(f, "cannot read {}: {cause}", path.display()),
            Self::Invalid(problems) => write!(f, "the document is not valid:\n{problems}"),
        }
    }
}

impl std::error::Error for LoadError {}

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

    /// Names of the providers that a made document holds.
    pub(crate) fn providers(&self) -> Vec<String> {
        match self {
            Self::File(_) => Vec::new(),
            Self::Made(document) => document.providers.keys().cloned().collect(),
        }
    }

    /// Reads, parses and compiles.
    pub(crate) fn load(&self, revision: u64) -> Load {
        let secrets = LocalSecrets::default();
        let outcome = match self {
            Self::File(path) => read_document(path, &secrets)
                .and_then(|text| load(&text, revision, &secrets).map_err(LoadError::Invalid)),
            Self::Made(document) => compile(document, revision, &secrets).map_err(LoadError::Invalid),
        };
        Load { outcome, read: secrets.read.into_inner() }
    }
}

fn read_document(path: &Path, files: &LocalSecrets) -> Result<String, LoadError> {
    let read = files.read.borrow_mut().text(path, DOCUMENT_BYTES_MAX);
    read.map_err(|cause| LoadError::Unreadable { path: path.to_owned(), cause })
}

/// Secrets of this machine. Remembers what was read, so that changes can be noticed.
#[derive(Debug, Default)]
struct LocalSecrets {
    read: RefCell<ReadFiles>,
}

impl Secrets for LocalSecrets {
    fn env(&self, name: &str) -> Result<String, String> {
        match std::env::var(name) {
            Ok(value) if value.is_empty() => Err(format!("the environment variable {name} is empty")),
            Ok(value) => Ok(value),
            Err(std::env::VarError::NotPresent) => Err(format!("the environment variable {name} is not set")),
            Err(std::env::VarError::NotUnicode(_)) => {
                Err(format!("the environment variable {name} is not UTF-8"))
            }
        }
    }

    fn file(&self, path: &str) -> Result<String, String> {
        match self.read.borrow_mut().text(Path::new(path), SECRET_BYTES_MAX) {
            Ok(text) => match text.trim_end_matches(['\r', '\n']) {
                "" => Err(format!("the file {path} is empty")),
                text => Ok(text.to_owned()),
            },
            Err(cause) => Err(format!("the file {path} cannot be read: {cause}")),
        }
    }

    fn sealed(&self, _: &str) -> Result<String, String> {
        Err("there is no key for sealed values".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::LocalSecrets;
    use trestle_config::Secrets;

    #[test]
    fn a_secret_file_loses_its_line_end_and_is_remembered() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        let secrets = LocalSecrets::default();
        let name = path.to_str().unwrap();
        assert!(secrets.file(name).is_err());
        for (content, wanted) in
            [("k\n", Some("k")), ("k\r\n\n", Some("k")), (" k", Some(" k")), ("\n", None)]
        {
            std::fs::write(&path, content).unwrap();
            assert_eq!(secrets.file(name).ok().as_deref(), wanted, "{content:?}");
        }
        assert_eq!(secrets.read.into_inner().paths().collect::<Vec<_>>(), [&path]);
    }

    #[test]
    fn a_variable_that_is_missing_is_named() {
        let error = LocalSecrets::default().env("TRESTLE_TEST_NO_SUCH_VARIABLE").unwrap_err();
        assert!(error.contains("TRESTLE_TEST_NO_SUCH_VARIABLE"), "{error}");
    }
}
