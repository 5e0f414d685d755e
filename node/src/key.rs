//! Application keys: made here, shown once, kept as their SHA-256.

use sha2::{Digest, Sha256};
use std::fmt;

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
        is_sha256_hex(digits).then(|| Self(text.to_owned()))
    }

    /// The key itself, to be shown to its owner.
    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }

    /// What is kept of it, in hexadecimal.
    pub(crate) fn sha256_hex(&self) -> String {
        hex(&Sha256::digest(&self.0))
    }
}

impl fmt::Debug for ApplicationKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ApplicationKey(hidden)")
    }
}

/// 64 digits of hexadecimal in lower case: a SHA-256, or 256 bits of a key.
pub(crate) fn is_sha256_hex(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::ApplicationKey;

    #[test]
    fn keys_differ_and_survive_as_text() {
        let (one, two) = (ApplicationKey::generate().unwrap(), ApplicationKey::generate().unwrap());
        assert_ne!(one, two);
        assert_eq!(ApplicationKey::parse(one.reveal()), Some(one.clone()));
        assert!(!format!("{one:?}").contains(one.reveal()));
    }

    #[test]
    fn the_hash_is_sha256_of_the_whole_text() {
        let key = ApplicationKey::parse(&format!("sk-trestle-{}", "0".repeat(64))).unwrap();
        assert_eq!(key.sha256_hex(), "d0482cb15330e5dff94517fe1281afb368c6883459f1cb45d581f89f2a67fbb2");
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
