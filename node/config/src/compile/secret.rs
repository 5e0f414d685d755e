//! Where a secret comes from: a reference or the document itself.

use super::Secrets;

/// A value of the document that stands for a secret.
#[derive(Clone, Copy)]
pub(super) enum Source<'a> {
    Env(&'a str),
    File(&'a str),
    /// What follows `sealed:`.
    Sealed(&'a str),
    Literal(&'a str),
}

impl<'a> Source<'a> {
    /// What a value means, or what is wrong with it, without the value.
    pub(super) fn of(value: &'a str) -> Result<Self, &'static str> {
        if let Some(name) = value.strip_prefix("env:") {
            let fine = !name.is_empty() && name.bytes().all(|b| b.is_ascii_graphic() && b != b'=');
            return if fine { Ok(Self::Env(name)) } else { Err("names no variable; write `env:NAME`") };
        }
        if let Some(path) = value.strip_prefix("file:") {
            return if path.is_empty() {
                Err("names no file; write `file:PATH`")
            } else {
                Ok(Self::File(path))
            };
        }
        if let Some(sealed) = value.strip_prefix("sealed:") {
            return Ok(Self::Sealed(sealed));
        }
        if value.trim().is_empty() {
            return Err("is empty; write `env:NAME` or `file:PATH`");
        }
        if is_masked(value) {
            return Err("is masked, not the key itself; write `env:NAME`, `file:PATH` or the whole key");
        }
        Ok(Self::Literal(value))
    }

    /// The secret; an error is for a warning: why it could not be read.
    pub(super) fn read(self, secrets: &dyn Secrets) -> Result<String, String> {
        let (read, reference) = match self {
            Self::Literal(secret) => return Ok(secret.to_owned()),
            Self::Env(name) => (secrets.env(name), format!("env:{name}")),
            Self::File(path) => (secrets.file(path), format!("file:{path}")),
            Self::Sealed(value) => (secrets.sealed(value), "the sealed value".to_owned()),
        };
        // No secret has white space around it that is meant.
        match read?.trim() {
            "" => Err(format!("`{reference}` is empty")),
            text => Ok(text.to_owned()),
        }
    }

    pub(super) fn is_literal(self) -> bool {
        matches!(self, Self::Literal(_))
    }
}

/// What a console or log shows in place of a key: `****`, `sk-...abcd`, `sk-…`.
pub fn is_masked(value: &str) -> bool {
    ["**", "...", "\u{2026}", "\u{2022}\u{2022}"].iter().any(|mask| value.contains(mask))
}
