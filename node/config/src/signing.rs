//! What callers sign with instead of showing their key: a pair as Amazon's, made of the hash of the key. Nothing of it is kept.

use crate::{
    Derived,
    hash::{hex, parse_hex},
};
use ring::hkdf::{HKDF_SHA256, Prk};

/// Begins the ids.
const PREFIX: &str = "TRESTLE";

/// What a caller signs with. Who has the secret can do what the key can.
#[derive(PartialEq, Eq)]
pub struct SigningPair {
    /// Says which key it is: `TRESTLE` and the key's SHA-256 in hexadecimal.
    pub access_key_id: String,
    /// The secret, 64 hexadecimal digits.
    pub secret_access_key: String,
}

impl Derived {
    /// The pair of a key with this SHA-256. A key that is rotated has another.
    pub fn signing_pair(&self, hash: &[u8; 32]) -> Option<SigningPair> {
        let mut secret = [0; 32];
        Prk::new_less_safe(HKDF_SHA256, &self.signatures)
            .expand(&[hash], HKDF_SHA256)
            .and_then(|made| made.fill(&mut secret))
            .ok()?;
        let access_key_id = format!("{PREFIX}{}", hex(hash));
        Some(SigningPair { access_key_id, secret_access_key: hex(&secret) })
    }
}

impl SigningPair {
    /// The SHA-256 of the key that an id is of.
    pub fn hash_in(access_key_id: &str) -> Option<[u8; 32]> {
        parse_hex(access_key_id.strip_prefix(PREFIX)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pair_is_of_one_key_and_one_gateway() {
        let pair = |signatures: u8, hash: u8| {
            Derived { ids: [0; 32], signatures: [signatures; 32] }.signing_pair(&[hash; 32]).unwrap()
        };
        let one = pair(1, 1);
        assert!(one == pair(1, 1));
        assert_eq!(SigningPair::hash_in(&one.access_key_id), Some([1; 32]));
        assert_eq!((one.access_key_id.len(), one.secret_access_key.len()), (71, 64));
        assert!(!one.access_key_id.contains(&one.secret_access_key));
        for other in [pair(1, 2), pair(2, 1)] {
            assert!(other.secret_access_key != one.secret_access_key);
        }
        for id in ["", "AKIDEXAMPLE", "TRESTLE", "TRESTLE00"] {
            assert_eq!(SigningPair::hash_in(id), None, "{id}");
        }
    }
}
