//! Secrets of other gateways as ours: references stay references, what is in clear stays in clear and is noted.

use super::report::{Place, Report};
use crate::{ProviderKey, hash_text};

/// How a file writes that a secret is elsewhere.
pub(super) struct Notation {
    /// Before the name of a variable of the environment.
    pub(super) env: &'static str,
    /// Before the names of what is kept in a secret manager.
    pub(super) managers: &'static [&'static str],
}

/// Where a secret is.
pub(super) enum Secret {
    /// In the environment: `env:NAME`.
    Env(String),
    /// In the file.
    Clear(String),
    /// Where we cannot read it.
    Elsewhere,
}

impl Notation {
    /// What a text of the file means.
    pub(super) fn secret(&self, text: &str) -> Secret {
        let text = text.trim();
        if let Some(name) = text.strip_prefix(self.env) {
            let fine = !name.is_empty() && name.bytes().all(|b| b.is_ascii_graphic() && b != b'=');
            return if fine { Secret::Env(format!("env:{name}")) } else { Secret::Elsewhere };
        }
        let foreign = self.managers.iter().any(|prefix| text.starts_with(prefix));
        // In clear it would read as a reference of ours, to something that nobody meant.
        let ours = ["env:", "file:"].iter().any(|prefix| text.starts_with(prefix));
        if text.is_empty() || foreign || ours { Secret::Elsewhere } else { Secret::Clear(text.to_owned()) }
    }

    /// Whether a text is a reference of any kind.
    pub(super) fn is_reference(&self, text: &str) -> bool {
        !text.trim().is_empty() && !matches!(self.secret(text), Secret::Clear(_))
    }
}

/// A key of a vendor. What cannot be read becomes a variable of the environment that the operator is told to set.
pub(super) fn provider_key(
    provider: &str,
    name: String,
    secret: Secret,
    at: (&Place, &mut Report),
) -> ProviderKey {
    let (place, report) = at;
    let value = match secret {
        Secret::Env(reference) => reference,
        Secret::Clear(value) if is_sendable(&value) => {
            let variable = variable(&[provider, &name]);
            report.note(
                place,
                format!("is in clear, and so it is in the document; put it into the environment and write `env:{variable}`"),
            );
            value
        }
        Secret::Clear(_) | Secret::Elsewhere => {
            let variable = variable(&[provider, &name]);
            report
                .note(place, format!("cannot be read here; put the key into the environment as {variable}"));
            format!("env:{variable}")
        }
    };
    ProviderKey::new(name, value)
}

/// The value of a key of a client; `None` after a note.
pub(super) fn caller_value(secret: Secret, place: &Place, report: &mut Report) -> Option<String> {
    match secret {
        Secret::Env(reference) => Some(reference),
        Secret::Clear(value) => Some(hash_text(&value)),
        Secret::Elsewhere => {
            report.note(
                place,
                "cannot be read here, so the key is left out; add its `sha256:HEX` or `env:NAME`",
            );
            None
        }
    }
}

/// Whether a key can stand in a header, and is not what a console shows in place of one.
fn is_sendable(value: &str) -> bool {
    let masked = ["**", "...", "\u{2026}", "\u{2022}\u{2022}", "<REDACTED>"];
    value.bytes().all(|b| b.is_ascii_graphic()) && !masked.iter().any(|mask| value.contains(mask))
}

/// A name for a variable of the environment.
pub(super) fn variable(parts: &[&str]) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' };
    let name: String = parts.join("_").chars().map(plain).collect();
    if name.starts_with(|c: char| c.is_ascii_digit()) { format!("KEY_{name}") } else { name }
}
