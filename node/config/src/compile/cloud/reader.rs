//! Reads what a key of a cloud is made of, and notes what is wrong with it.

use crate::{
    compile::{Secrets, secret::Source},
    path::Path,
    problem::Findings,
};
use trestle_provider::credential::Secret;

/// Where values come from, and where what is wrong with them goes. What a method returns `None` for, it has noted.
pub(in crate::compile) struct Reader<'a> {
    pub(in crate::compile) secrets: &'a dyn Secrets,
    pub(in crate::compile) findings: &'a mut Findings,
}

impl Reader<'_> {
    /// A variable of the environment, if it is set.
    pub(super) fn env(&self, name: &str) -> Option<String> {
        let value = self.secrets.env(name).ok()?;
        Some(value.trim().to_owned()).filter(|value| !value.is_empty())
    }

    pub(super) fn problem<T>(&mut self, path: &Path<'_>, why: impl Into<String>) -> Option<T> {
        self.findings.problem(path, why);
        None
    }

    /// What is not there now, and may be there elsewhere or later.
    pub(super) fn missing<T>(&mut self, path: &Path<'_>, why: impl std::fmt::Display) -> Option<T> {
        self.findings.warning(path, format!("{why}; this key is left out"));
        None
    }

    /// The text that a value stands for.
    pub(super) fn text(&mut self, value: &str, path: &Path<'_>) -> Option<String> {
        match Source::of(value).map(|source| source.read(self.secrets)) {
            Ok(Ok(text)) => Some(text),
            Ok(Err(why)) => self.missing(path, why),
            Err(why) => self.problem(path, why),
        }
    }

    /// The secret that a value stands for.
    pub(super) fn secret(&mut self, value: &str, path: &Path<'_>) -> Option<Secret> {
        self.text(value, path).map(Secret::new)
    }

    /// A member that may be missing: `Some(None)` if it is.
    pub(super) fn optional_secret(&mut self, value: Option<&str>, path: &Path<'_>) -> Option<Option<Secret>> {
        match value {
            None => Some(None),
            Some(value) => self.secret(value, path).map(Some),
        }
    }

    /// The member, or else the variable of the environment.
    pub(super) fn or_env(&mut self, member: Option<&str>, variable: &str, path: &Path<'_>) -> Option<String> {
        match member {
            Some("") => self.problem(path, "is empty; remove it or set it"),
            Some(text) => Some(text.to_owned()),
            None => match self.env(variable) {
                Some(text) => Some(text),
                None => self.missing(path, format!("is not set, and neither is the variable {variable}")),
            },
        }
    }

    /// A URL, if it may be asked.
    pub(super) fn url(
        &mut self,
        url: String,
        path: &Path<'_>,
        check: fn(&str) -> Result<(), &'static str>,
    ) -> Option<String> {
        match check(&url) {
            Ok(()) => Some(url),
            Err(why) => self.problem(path, why),
        }
    }
}
