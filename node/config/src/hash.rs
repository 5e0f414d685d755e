//! SHA-256 of client keys, and its text form.

use sha2::{Digest, Sha256};
use std::fmt::Write as _;

/// Begins the text form of a hash.
pub(crate) const PREFIX: &str = "sha256:";

/// The SHA-256 of a client key: what the snapshot looks callers up by.
pub fn hash_key(secret: &str) -> [u8; 32] {
    Sha256::digest(secret.as_bytes()).into()
}

/// The SHA-256 of a client key as it stands in the document: `sha256:` and 64 hexadecimal digits.
pub fn hash_text(secret: &str) -> String {
    format!("{PREFIX}{}", hex(&hash_key(secret)))
}

/// 64 hexadecimal digits.
pub(crate) fn hex(bytes: &[u8; 32]) -> String {
    bytes.iter().fold(String::with_capacity(64), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Reads 64 hexadecimal digits.
pub(crate) fn parse_hex(text: &str) -> Option<[u8; 32]> {
    let digits = text.as_bytes();
    if digits.len() != 64 {
        return None;
    }
    let mut hash = [0; 32];
    for (byte, pair) in hash.iter_mut().zip(digits.chunks_exact(2)) {
        let digit = |b: &u8| char::from(*b).to_digit(16).and_then(|d| u8::try_from(d).ok());
        *byte = (digit(pair.first()?)? << 4) | digit(pair.last()?)?;
    }
    Some(hash)
}

/// One hash over parts, each with its length ahead so that no two lists of parts look the same.
pub(crate) fn fingerprint(parts: [&str; 3]) -> [u8; 32] {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update((part.len() as u64).to_le_bytes());
        hasher.update(part.as_bytes());
    }
    hasher.finalize().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_hash_agree() {
        let text = hash_text("abc");
        assert_eq!(text, "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        let hex = text.strip_prefix(PREFIX).unwrap();
        assert_eq!(parse_hex(hex), Some(hash_key("abc")));
        assert_eq!(parse_hex(&hex.to_uppercase()), Some(hash_key("abc")));
        assert_eq!(parse_hex(&hex[1..]), None);
        assert_eq!(parse_hex(&hex.replace('b', "g")), None);
        assert_ne!(fingerprint(["a", "bc", ""]), fingerprint(["ab", "c", ""]));
    }
}
