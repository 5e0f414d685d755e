//! Secrets that are kept are sealed with a data key (AES-256-GCM), which a key-encryption key wraps that every node gets by
//! file or environment. So a stolen volume or backup shows none, and another key-encryption key means one small change.

use crate::key::hex;
use anyhow::{Context, bail};
use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD as BASE64};
use ring::{
    aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey},
    hkdf,
};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::sync::{PoisonError, RwLock};

/// Begins what was sealed, after `sealed:`.
const SEALED: &str = "sealed:v1.";
/// What each use of a key is for, so that nothing sealed for one passes for another.
const FOR_VALUES: &[u8] = b"trestle sealed value 1";
const FOR_DATA_KEY: &[u8] = b"trestle data key 1";
const FOR_DERIVED: &[u8] = b"trestle derived secret 1";
/// Hexadecimal digits of fingerprints and handles.
const SHORT: usize = 16;

/// The data key as it is kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Wrapped {
    /// The fingerprint of the key-encryption key.
    pub(crate) key_encryption_key: String,
    /// The data key, sealed with it.
    pub(crate) data_key: String,
}

/// The keys of this node.
#[derive(Default)]
pub(crate) struct Keyring {
    now: Option<Kek>,
    before: Option<Kek>,
    data: RwLock<Option<Data>>,
}

/// The data key: what seals values, and what other secrets are derived from.
struct Data {
    key: Key,
    root: hkdf::Prk,
}

struct Kek {
    key: Key,
    fingerprint: String,
}

/// What a masked secret looks like: a handle that says which one it is and nothing of it. References stay.
pub(crate) fn masked(value: &str) -> String {
    match value.strip_prefix(SEALED) {
        Some(_) => format!("sealed:{}", &hex(&Sha256::digest(value))[..SHORT]),
        None if value.starts_with("env:") || value.starts_with("file:") || value.starts_with("sealed:") => {
            value.to_owned()
        }
        None => "****".to_owned(),
    }
}

/// Whether a value was sealed here.
pub(crate) fn is_sealed(value: &str) -> bool {
    value.starts_with(SEALED)
}

impl Keyring {
    /// From the texts of the key-encryption keys, the present one and the one before: 32 bytes in hexadecimal or base64.
    pub(crate) fn new(now: Option<&str>, before: Option<&str>) -> anyhow::Result<Self> {
        let now = now.map(Kek::parse).transpose().context("key_encryption_key")?;
        let before = before.map(Kek::parse).transpose().context("key_encryption_key_previous")?;
        Ok(Self { now, before, data: RwLock::default() })
    }

    /// Takes up the data key that is kept; what is to be kept instead, if it is new or to be wrapped anew.
    pub(crate) fn unlock(&self, kept: Option<&Wrapped>) -> anyhow::Result<Option<Wrapped>> {
        let Some(now) = &self.now else {
            if kept.is_some() {
                tracing::warn!(
                    "there are sealed secrets and no key_encryption_key: what needs them is left out"
                );
            }
            return Ok(None);
        };
        let Some(kept) = kept else {
            let bytes: [u8; 32] = random()?;
            self.take(&bytes)?;
            return now.wrap(&bytes).map(Some);
        };
        let with = [Some(now), self.before.as_ref()].into_iter().flatten();
        let Some(kek) = with.into_iter().find(|kek| kek.fingerprint == kept.key_encryption_key) else {
            bail!(
                "the secrets here are sealed under the key-encryption key {}, and key_encryption_key is {}: give the \
                 former as key_encryption_key_previous to change it",
                kept.key_encryption_key,
                now.fingerprint
            );
        };
        let bytes = kek.key.open(&kept.data_key, FOR_DATA_KEY).context("the data key cannot be unwrapped")?;
        self.take(&bytes)?;
        if kek.fingerprint == now.fingerprint { Ok(None) } else { now.wrap(&bytes).map(Some) }
    }

    fn take(&self, bytes: &[u8]) -> anyhow::Result<()> {
        let root = hkdf::Salt::new(hkdf::HKDF_SHA256, FOR_DERIVED).extract(bytes);
        let data = Data { key: Key::new(bytes)?, root };
        *self.data.write().unwrap_or_else(PoisonError::into_inner) = Some(data);
        Ok(())
    }

    /// A secret that all nodes with this data key have; none before it is there.
    pub(crate) fn derive(&self, purpose: &str) -> Option<[u8; 32]> {
        let data = self.data.read().unwrap_or_else(PoisonError::into_inner);
        let mut secret = [0; 32];
        let purpose = [purpose.as_bytes()];
        data.as_ref()?.root.expand(&purpose, hkdf::HKDF_SHA256).ok()?.fill(&mut secret).ok()?;
        Some(secret)
    }

    /// Seals a secret; the error is public text.
    pub(crate) fn seal(&self, secret: &str) -> Result<String, String> {
        let data = self.data.read().unwrap_or_else(PoisonError::into_inner);
        let data = data.as_ref().ok_or(
            "is a secret in clear, and this gateway has no key_encryption_key to seal it with; write `env:NAME` or \
             `file:PATH`",
        )?;
        let sealed = data.key.seal(secret.as_bytes(), FOR_VALUES).map_err(|error| error.to_string())?;
        Ok(format!("{SEALED}{sealed}"))
    }

    /// Opens a sealed value, with or without `sealed:`; the error is public text.
    pub(crate) fn open(&self, value: &str) -> Result<String, String> {
        let value = value.strip_prefix("sealed:").unwrap_or(value);
        let Some(sealed) = value.strip_prefix("v1.") else {
            return Err(format!("`sealed:{value}` is no sealed secret of this gateway"));
        };
        let data = self.data.read().unwrap_or_else(PoisonError::into_inner);
        let data = data.as_ref().ok_or("the secret is sealed, and this node has no key_encryption_key")?;
        let opened = data.key.open(sealed, FOR_VALUES).map_err(|error| error.to_string())?;
        String::from_utf8(opened).map_err(|_| "the sealed secret is no text".to_owned())
    }
}

impl Kek {
    fn parse(text: &str) -> anyhow::Result<Self> {
        let text = text.trim();
        let of_hex = || {
            let pairs = text.as_bytes().chunks_exact(2);
            let bytes = pairs.map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok());
            if text.len() == 64 { bytes.collect::<Option<Vec<_>>>() } else { None }
        };
        let of_base64 = || {
            let text = text.trim_end_matches('=').replace('+', "-").replace('/', "_");
            BASE64.decode(text).ok().filter(|bytes| bytes.len() == 32)
        };
        let Some(bytes) = of_hex().or_else(of_base64) else {
            bail!("must be 32 random bytes in hexadecimal or base64, made with `openssl rand -hex 32`");
        };
        let print =
            Sha256::new().chain_update(b"trestle key-encryption key 1").chain_update(&bytes).finalize();
        Ok(Self { key: Key::new(&bytes)?, fingerprint: hex(&print)[..SHORT].to_owned() })
    }

    fn wrap(&self, data_key: &[u8]) -> anyhow::Result<Wrapped> {
        let data_key = self.key.seal(data_key, FOR_DATA_KEY)?;
        Ok(Wrapped { key_encryption_key: self.fingerprint.clone(), data_key })
    }
}

/// A key for sealing: a fresh random nonce stands before each sealed text.
struct Key(LessSafeKey);

impl Key {
    fn new(bytes: &[u8]) -> anyhow::Result<Self> {
        let key = UnboundKey::new(&AES_256_GCM, bytes).ok().context("a key must have 32 bytes")?;
        Ok(Self(LessSafeKey::new(key)))
    }

    fn seal(&self, text: &[u8], purpose: &[u8]) -> anyhow::Result<String> {
        let nonce: [u8; NONCE_LEN] = random()?;
        let mut sealed = text.to_vec();
        let sealing = self.0.seal_in_place_append_tag(
            Nonce::assume_unique_for_key(nonce),
            Aad::from(purpose),
            &mut sealed,
        );
        sealing.ok().context("it is too long to be sealed")?;
        Ok(BASE64.encode([&nonce[..], &sealed].concat()))
    }

    fn open(&self, sealed: &str, purpose: &[u8]) -> anyhow::Result<Vec<u8>> {
        let mut bytes = BASE64.decode(sealed).ok().context("what is sealed is damaged")?;
        let (nonce, rest) = bytes.split_at_mut_checked(NONCE_LEN).context("what is sealed is cut off")?;
        let nonce = Nonce::try_assume_unique_for_key(nonce).ok().context("what is sealed is damaged")?;
        let opened = self.0.open_in_place(nonce, Aad::from(purpose), rest);
        Ok(opened.ok().context("it was sealed with another key")?.to_vec())
    }
}

fn random<const N: usize>() -> anyhow::Result<[u8; N]> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes)
        .map_err(|error| anyhow::anyhow!("the system gives no random numbers: {error}"))?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ring(now: Option<u8>, before: Option<u8>) -> Keyring {
        let text = |byte: u8| format!("{byte:02x}").repeat(32);
        Keyring::new(now.map(text).as_deref(), before.map(text).as_deref()).unwrap()
    }

    #[test]
    fn what_is_sealed_is_opened_by_those_who_have_the_key() {
        let one = ring(Some(1), None);
        assert!(one.seal("sk-1").is_err(), "not unlocked yet");
        let wrapped = one.unlock(None).unwrap().unwrap();
        let sealed = one.seal("sk-1").unwrap();
        assert!(is_sealed(&sealed) && !sealed.contains("sk-1"));
        assert_ne!(sealed, one.seal("sk-1").unwrap(), "the same secret does not look the same");
        let other = ring(Some(1), None);
        assert_eq!(other.unlock(Some(&wrapped)).unwrap(), None);
        assert_eq!(other.open(&sealed).as_deref(), Ok("sk-1"));
        let without = ring(None, None);
        assert_eq!(without.unlock(Some(&wrapped)).unwrap(), None);
        assert!(without.open(&sealed).is_err() && without.seal("sk-1").is_err());
        let stranger = ring(Some(2), None);
        assert!(stranger.unlock(Some(&wrapped)).is_err());
        stranger.unlock(None).unwrap();
        assert!(stranger.open(&sealed).is_err());
        assert!(one.open(&sealed[..sealed.len() - 2]).is_err() && one.open("sealed:v1.").is_err());
        assert!(one.open(&masked(&sealed)).is_err());
    }

    #[test]
    fn another_key_encryption_key_wraps_the_same_data_key() {
        let one = ring(Some(1), None);
        let wrapped = one.unlock(None).unwrap().unwrap();
        let sealed = one.seal("sk-1").unwrap();
        let two = ring(Some(2), Some(1));
        let anew = two.unlock(Some(&wrapped)).unwrap().unwrap();
        let three = ring(Some(2), None);
        assert_eq!(three.unlock(Some(&anew)).unwrap(), None);
        assert_eq!(three.open(&sealed).as_deref(), Ok("sk-1"));
        assert_eq!(three.derive("ids"), one.derive("ids"), "what was derived lasts");
    }

    #[test]
    fn secrets_are_derived_of_the_data_key_by_purpose() {
        let one = ring(Some(1), None);
        assert_eq!(one.derive("ids"), None, "not unlocked yet");
        let wrapped = one.unlock(None).unwrap().unwrap();
        let ids = one.derive("ids").unwrap();
        assert_ne!(one.derive("signatures").unwrap(), ids);
        let again = ring(Some(1), None);
        again.unlock(Some(&wrapped)).unwrap();
        assert_eq!(again.derive("ids"), Some(ids));
        let other = ring(Some(1), None);
        other.unlock(None).unwrap();
        assert_ne!(other.derive("ids"), Some(ids), "of another data key");
        let without = ring(None, None);
        without.unlock(Some(&wrapped)).unwrap();
        assert_eq!(without.derive("ids"), None);
    }

    #[test]
    fn keys_have_32_bytes() {
        assert!(Keyring::new(Some(&"ab".repeat(31)), None).is_err());
        assert!(Keyring::new(Some(&"xy".repeat(32)), None).is_err());
        let base64 = "q83v".repeat(10) + "q80=";
        assert!(Keyring::new(Some(&base64), None).is_ok());
    }

    #[test]
    fn masks_tell_nothing() {
        for (value, wanted) in [("env:A", "env:A"), ("file:/a", "file:/a"), ("sk-1", "****")] {
            assert_eq!(masked(value), wanted);
        }
        let one = ring(Some(1), None);
        one.unlock(None).unwrap();
        let mask = masked(&one.seal("sk-1").unwrap());
        assert_eq!((mask.len(), masked(&mask)), ("sealed:".len() + SHORT, mask));
    }
}
