//! Application keys: made here, shown once, kept as their SHA-256.

use std::fmt;
use trestle_config::hash_text;

const PREFIX: &str = "sk-trestle-";

/// What an application presents: `sk-trestle-` and 256 random bits in hexadecimal.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct ApplicationKey(String);

impl ApplicationKey {
    /// A new one from the system's source of randomness.
    pub(crate) fn generate() -> anyhow::Result<Self> {
        let mut bits = [0; 32];
        getrandom::fill(&mut bits)
            .map_err(|error| anyhow::anyhow!("the system gives no random numbers for a key: {error}"))?;
        Ok(Self(format!("{PREFIX}{}", hex(&bits))))
    }

    /// One that was made before; `None` if the text is no such key.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let digits = text.strip_prefix(PREFIX)?;
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

impl fmt::Debug for ApplicationKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ApplicationKey(hidden)")
    }
}

/// Whether a text is the hash of a key, as it is kept.
pub(crate) fn is_hash(text: &str) -> bool {
    text.strip_prefix("sha256:").is_some_and(is_hex)
}

/// 256 bits in lower case.
fn is_hex(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::{ApplicationKey, is_hash};

    #[test]
    fn keys_differ_and_survive_as_text() {
        let (one, two) = (ApplicationKey::generate().unwrap(), ApplicationKey::generate().unwrap());
        assert_ne!(one, two);
        assert_eq!(ApplicationKey::parse(one.reveal()), Some(one.clone()));
        assert!(!format!("{one:?}").contains(one.reveal()));
    }

    #[test]
    fn the_hash_is_kept_instead() {
        let hash = ApplicationKey::generate().unwrap().hash();
        assert!(is_hash(&hash), "{hash}");
        assert!(!is_hash(&hash[1..]) && !is_hash(&hash.replace("sha256:", "")));
    }

    #[test]
    fn other_text_is_no_key() {
        for text in
            ["", "sk-trestle-", "sk-trestle-00", &"0".repeat(75), &format!("sk-trestle-{}", "G".repeat(64))]
        {
            assert_eq!(ApplicationKey::parse(text), None, "{text}");
        }
    }
}
