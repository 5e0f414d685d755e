//! Secrets of this node: from its environment, its files, and what is sealed. Remembers which files it read, so that changes
//! can be noticed.

use super::Keyring;
use crate::files::{ReadFiles, SECRET_BYTES_MAX};
use std::{cell::RefCell, path::Path};
use trestle_config::Secrets;

/// For one compilation.
pub(crate) struct NodeSecrets<'a> {
    keyring: Option<&'a Keyring>,
    read: RefCell<ReadFiles>,
}

impl<'a> NodeSecrets<'a> {
    /// With those that are sealed.
    pub(crate) fn new(keyring: &'a Keyring) -> Self {
        Self { keyring: Some(keyring), read: RefCell::default() }
    }

    /// Without those that are sealed.
    pub(crate) fn unsealed() -> Self {
        Self { keyring: None, read: RefCell::default() }
    }

    /// The files that were read, readable or not.
    pub(crate) fn read(self) -> ReadFiles {
        self.read.into_inner()
    }
}

impl Secrets for NodeSecrets<'_> {
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

    fn sealed(&self, value: &str) -> Result<String, String> {
        match self.keyring {
            Some(keyring) => keyring.open(value),
            None => Err("sealed secrets are opened by a running node alone".to_owned()),
        }
    }

    fn derive(&self, purpose: &str) -> Option<[u8; 32]> {
        self.keyring?.derive(purpose)
    }
}

#[cfg(test)]
mod tests {
    use super::NodeSecrets;
    use trestle_config::Secrets;

    #[test]
    fn a_secret_file_loses_its_line_end_and_is_remembered() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        let secrets = NodeSecrets::unsealed();
        let name = path.to_str().unwrap();
        assert!(secrets.file(name).is_err());
        for (content, wanted) in
            [("k\n", Some("k")), ("k\r\n\n", Some("k")), (" k", Some(" k")), ("\n", None)]
        {
            std::fs::write(&path, content).unwrap();
            assert_eq!(secrets.file(name).ok().as_deref(), wanted, "{content:?}");
        }
        assert_eq!(secrets.read().paths().collect::<Vec<_>>(), [&path]);
    }

    #[test]
    fn a_variable_that_is_missing_is_named() {
        let error = NodeSecrets::unsealed().env("TRESTLE_TEST_NO_SUCH_VARIABLE").unwrap_err();
        assert!(error.contains("TRESTLE_TEST_NO_SUCH_VARIABLE"), "{error}");
    }
}
