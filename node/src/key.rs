//! Keys of applications and operators: made here, shown once, kept as their SHA-256.

use std::fmt;
use trestle_config::hash_text;

/// Who presents a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Holder {
    /// An application.
    Application,
    /// An operator: an admin token.
    Operator,
}

impl Holder {
    fn prefix(self) -> &'static str {
        match self {
            Self::Application => "sk-trestle-",
            Self::Operator => "trestle-admin-",
        }
    }
}

/// What an application or operator presents: a prefix and 256 random bits in hexadecimal.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Key(String);

impl Key {
    /// A new one from the system's source of randomness.
    pub(crate) fn generate(holder: Holder) -> anyhow::Result<Self> {
        let mut bits = [0; 32];
        getrandom::fill(&mut bits)
            .map_err(|error| anyhow::anyhow!("the system gives no random numbers for a key: {error}"))?;
        Ok(Self(format!("{}{}", holder.prefix(), hex(&bits))))
    }

    /// One that was made before; `None` if the text is no such key.
    pub(crate) fn parse(holder: Holder, text: &str) -> Option<Self> {
        let digits = text.strip_prefix(holder.prefix())?;
        is_hex(digits).then(|| Self(text.to_owned()))
    }

    /// The key itself, to be shown to its owner.
    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }

    /// What is kept of it: its SHA-256, as it stands in a document.
    pub(crate) fn hash(&self) -> String {
        hash_text(&self.0)
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(hidden)")
    }
}

/// 256 bits in lower case.
fn is_hex(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

/// Bytes in hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::{Holder, Key};

    #[test]
    fn keys_differ_and_survive_as_text() {
        for holder in [Holder::Application, Holder::Operator] {
            let (one, two) = (Key::generate(holder).unwrap(), Key::generate(holder).unwrap());
            assert_ne!(one, two);
            assert_eq!(Key::parse(holder, one.reveal()), Some(one.clone()));
            assert!(!format!("{one:?}").contains(one.reveal()) && !one.hash().contains(one.reveal()));
        }
    }

    #[test]
    fn other_text_is_no_key() {
        let operators = Key::generate(Holder::Operator).unwrap();
        for text in [
            "",
            "sk-trestle-",
            "sk-trestle-00",
            &"0".repeat(75),
            &format!("sk-trestle-{}", "G".repeat(64)),
            operators.reveal(),
        ] {
            assert_eq!(Key::parse(Holder::Application, text), None, "{text}");
        }
    }
}
