//! Ids of vendors as clients get them: sealed with the route that keeps what they name, for their owner alone. So every
//! node finds the way back, and nothing is kept here.

use super::Pin;
use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD as BASE64};
use bytes::Bytes;
use ring::{
    aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey},
    hmac,
};
use std::{fmt, sync::Arc};
use trestle_config::{Caller, Credential, ProviderConfig, ProviderKind, Snapshot};
use trestle_dialect::{
    Stored, frame,
    stored::{Unreadable, event_with_ids, with_ids},
};

/// The first byte of what is sealed.
const VERSION: u8 = 1;
/// What the secret is used for.
const FOR_SEALING: &[u8] = b"trestle id 1 seal";
const FOR_NONCES: &[u8] = b"trestle id 1 nonce";
/// Longer ones are none of ours.
const TOKEN_BYTES_MAX: usize = 2048;

/// Seals and opens the ids of one caller.
pub(crate) struct Ids {
    sealing: LessSafeKey,
    secret: hmac::Key,
    /// `k` and the name of the caller's key, which outlives its value; `-` for nobody in particular.
    owner: Vec<u8>,
}

impl fmt::Debug for Ids {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ids").finish_non_exhaustive()
    }
}

impl Ids {
    /// Those of a caller; `None` where the gateway has no secret for it.
    pub(crate) fn of(snapshot: &Snapshot, caller: Option<&Caller>) -> Option<Self> {
        let secret = hmac::Key::new(hmac::HMAC_SHA256, &snapshot.derived.as_ref()?.ids);
        let sealing = hmac::sign(&secret, FOR_SEALING);
        let sealing = LessSafeKey::new(UnboundKey::new(&AES_256_GCM, sealing.as_ref()).ok()?);
        let owner = caller.map_or_else(|| b"-".to_vec(), |caller| [b"k", caller.name.as_bytes()].concat());
        Some(Self { sealing, secret, owner })
    }

    /// What the client gets for a vendor's id. The same id looks the same each time, for clients compare ids: the nonce
    /// is made of what is sealed, so that only what is the same has the same.
    pub(crate) fn seal(&self, stored: Stored, (provider, key): (&str, &str), id: &str) -> Option<String> {
        let prefix = prefix(stored, id);
        let mut text = Vec::with_capacity(2 + provider.len() + key.len() + id.len() + AES_256_GCM.tag_len());
        for name in [provider, key] {
            text.push(u8::try_from(name.len()).ok()?);
            text.extend_from_slice(name.as_bytes());
        }
        text.extend_from_slice(id.as_bytes());
        let about = self.about(stored, prefix);
        let mut nonces = hmac::Context::with_key(&self.secret);
        nonces.update(FOR_NONCES);
        nonces.update(&(about.len() as u64).to_be_bytes());
        nonces.update(&about);
        nonces.update(&text);
        let nonce: [u8; NONCE_LEN] = *nonces.sign().as_ref().first_chunk()?;
        let sealed = Nonce::assume_unique_for_key(nonce);
        self.sealing.seal_in_place_append_tag(sealed, Aad::from(&about), &mut text).ok()?;
        let token = [&[VERSION], &nonce[..], &text].concat();
        Some(format!("{prefix}{}", BASE64.encode(token)))
    }

    /// What a token of this caller stands for; `None` for all others.
    pub(crate) fn open(&self, stored: Stored, token: &str) -> Option<Opened> {
        let prefix = stored.prefixes().iter().find(|prefix| token.starts_with(**prefix))?;
        let token = token.get(prefix.len()..).filter(|token| token.len() <= TOKEN_BYTES_MAX)?;
        let mut bytes = BASE64.decode(token).ok()?;
        let (version, rest) = bytes.split_first_mut()?;
        let (nonce, sealed) = rest.split_at_mut_checked(NONCE_LEN).filter(|_| *version == VERSION)?;
        let nonce = Nonce::try_assume_unique_for_key(nonce).ok()?;
        let about = self.about(stored, prefix);
        let text = self.sealing.open_in_place(nonce, Aad::from(&about), sealed).ok()?;
        let (provider, text) = name(text)?;
        let (key, id) = name(text)?;
        Some(Opened { provider, key, id: String::from_utf8(id.to_vec()).ok()? })
    }

    /// The route that a token of this caller leads to, if it is still there.
    pub(crate) fn find(&self, snapshot: &Snapshot, stored: Stored, token: &str) -> Option<Pin> {
        let Opened { provider, key, id } = self.open(stored, token)?;
        let provider = snapshot.providers.get(provider.as_str())?;
        let remote = matches!(provider.kind, ProviderKind::Remote(_));
        let credential = provider.credentials.iter().find(|own| *own.name == *key).filter(|_| remote)?;
        Some(Pin {
            stored,
            provider: Arc::clone(provider),
            credential: Some(Arc::clone(credential)),
            theirs: id,
            ours: token.to_owned(),
        })
    }

    /// What a token is bound to beside what it holds: another kind, another beginning and another owner open nothing.
    fn about(&self, stored: Stored, prefix: &str) -> Vec<u8> {
        [FOR_SEALING, &[letter(stored)], prefix.as_bytes(), &[0], &self.owner].concat()
    }
}

/// What was sealed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Opened {
    provider: String,
    key: String,
    id: String,
}

/// Stands for the kind; tokens that are out there hold it.
const fn letter(stored: Stored) -> u8 {
    match stored {
        Stored::Response => b'r',
        Stored::File => b'f',
        Stored::Input => b'i',
        Stored::Batch => b'b',
        Stored::MessageBatch => b'm',
    }
}

/// People and SDKs know an id by its beginning.
fn prefix(stored: Stored, id: &str) -> &'static str {
    let all = stored.prefixes();
    all.iter().find(|prefix| id.starts_with(**prefix)).or(all.first()).copied().unwrap_or_default()
}

/// A name, its length before it, and what follows.
fn name(text: &[u8]) -> Option<(String, &[u8])> {
    let (length, rest) = text.split_first()?;
    let (name, rest) = rest.split_at_checked(usize::from(*length))?;
    Some((String::from_utf8(name.to_vec()).ok()?, rest))
}

/// Seals the ids in the answer of a route.
#[derive(Clone)]
pub(crate) struct Minter {
    pub(crate) ids: Arc<Ids>,
    pub(crate) stored: Stored,
    pub(crate) provider: Arc<ProviderConfig>,
    pub(crate) credential: Arc<Credential>,
}

impl Minter {
    /// What the client gets for an id of the vendor.
    fn seal(&self, stored: Stored, id: &str) -> Option<String> {
        self.ids.seal(stored, (&self.provider.name, &self.credential.name), id)
    }

    /// A whole answer with these.
    pub(crate) fn whole(&self, body: &Bytes) -> Result<Bytes, Unreadable> {
        with_ids(body, self.stored, &mut |stored, id| self.seal(stored, id))
    }

    /// An event with these.
    pub(crate) fn event(&self, event: &frame::Event<'_>) -> Result<Vec<u8>, Unreadable> {
        event_with_ids(event, &mut |stored, id| self.seal(stored, id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::HostSecrets;
    use trestle_config::Derived;

    fn snapshot(secret: u8) -> Snapshot {
        let text = "
providers:
  a: { base_url: 'http://a', dialects: [openai-responses], keys: [{ name: k1, value: x }, { name: k2, value: y }] }
keys:
  one: { value: 'sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad' }
  two: { value: 'sha256:2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae' }
";
        let document = trestle_config::parse(text).unwrap();
        let mut snapshot = trestle_config::compile(&document, 1, &HostSecrets).unwrap().snapshot;
        snapshot.derived = Some(Derived { ids: [secret; 32], signatures: [0; 32] });
        snapshot
    }

    fn ids(snapshot: &Snapshot, caller: Option<&str>) -> Ids {
        let caller = caller.map(|name| snapshot.callers.named(name).unwrap());
        Ids::of(snapshot, caller.map(|caller| &**caller)).unwrap()
    }

    #[test]
    fn a_token_is_its_owners_alone() {
        let here = snapshot(1);
        let one = ids(&here, Some("one"));
        for (stored, id, prefix) in [
            (Stored::Response, "resp_0123456789abcdef0123456789abcdef0123456789abcdef01", "resp_"),
            (Stored::Response, "3bd0b1f2-0000", "resp_"),
            (Stored::File, "file-abc", "file-"),
            (Stored::File, "file_abc", "file_"),
            (Stored::File, "", "file-"),
            (Stored::MessageBatch, "msgbatch_1", "msgbatch_"),
        ] {
            let token = one.seal(stored, ("a", "k2"), id).unwrap();
            assert!(token.starts_with(prefix) && !token.contains("0123456789abcdef"), "{token}");
            assert!(token.len() < 160, "{token}");
            assert_eq!(one.seal(stored, ("a", "k2"), id).unwrap(), token, "clients compare ids");
            let pin = one.find(&here, stored, &token).unwrap();
            assert_eq!((&*pin.theirs, &*pin.credential.unwrap().name), (id, "k2"));
            assert!(ids(&snapshot(1), Some("one")).find(&here, stored, &token).is_some(), "on another node");
            for (why, other) in [
                ("another caller", ids(&here, Some("two"))),
                ("nobody", ids(&here, None)),
                ("another gateway", ids(&snapshot(2), Some("one"))),
            ] {
                assert_eq!(other.open(stored, &token), None, "{why}");
            }
        }
        assert_ne!(one.seal(Stored::File, ("a", "k1"), "x"), one.seal(Stored::File, ("a", "k2"), "x"));
    }

    #[test]
    fn what_was_not_sealed_here_opens_nothing() {
        let here = snapshot(1);
        let one = ids(&here, Some("one"));
        let token = one.seal(Stored::File, ("a", "k1"), "file-abc").unwrap();
        for at in 0..token.len() {
            let mut damaged = token.clone().into_bytes();
            damaged[at] = if damaged[at] == b'A' { b'B' } else { b'A' };
            assert_eq!(one.open(Stored::File, &String::from_utf8(damaged).unwrap()), None, "{at}");
        }
        assert_eq!(one.open(Stored::File, &token.replace("file-", "file_")), None);
        assert_eq!(one.open(Stored::Batch, &token.replace("file-", "batch_")), None);
        for other in
            ["", "file-", "file-abc", "file-AQ", "resp_1", &format!("{token}A"), &"file-A".repeat(9_999)]
        {
            assert_eq!(one.open(Stored::File, other), None, "{other:.40}");
        }
        for gone in [("b", "k1"), ("a", "k3"), ("mock", "none")] {
            let token = one.seal(Stored::File, gone, "file-abc").unwrap();
            assert!(one.find(&here, Stored::File, &token).is_none(), "{gone:?}");
        }
        assert!(Ids::of(&Snapshot { derived: None, ..here }, None).is_none());
    }
}
