//! Datagrams that only those with the secret of the mesh can write or read.

use ring::{
    aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey},
    hkdf::{HKDF_SHA256, KeyType, Salt},
};
use std::{fmt, io};

/// What fits through every IPv6 path, and so through tunnels, without fragments, which some networks drop.
pub(super) const DATAGRAM_BYTES_MAX: usize = 1232;
/// `version | key id | salt | counter`, in the clear and authenticated.
pub(super) const HEADER_BYTES: usize = 2 + SALT_BYTES + 8;
pub(super) const SALT_BYTES: usize = 16;
const TAG_BYTES: usize = 16;
/// `time | part | parts`, sealed, before the bytes of the message.
const INSIDE_BYTES: usize = 8 + 1 + 1;
/// Of a message, in one datagram.
pub(super) const PART_BYTES_MAX: usize = DATAGRAM_BYTES_MAX - HEADER_BYTES - INSIDE_BYTES - TAG_BYTES;
/// 64 parts: the gossip library makes messages of at most 65,510 bytes.
pub(super) const PARTS_MAX: usize = 64;

const VERSION: u8 = 1;
const KEY_BYTES: usize = 32;
const SECRET_BYTES_MIN: usize = 16;
const SECRETS_MAX: usize = 2;

/// Secrets that cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "the secret of the mesh must have {SECRET_BYTES_MIN} bytes or more, random ones, and there may be {SECRETS_MAX} of them at most"
)]
pub struct BadSecrets;

/// What nodes of a mesh share. The first seals; what any of them sealed can be opened. To change it give all nodes `old, new`,
/// then all `new, old`, then all `new`.
#[derive(Clone)]
pub struct Secrets(Vec<Secret>);

#[derive(Clone)]
struct Secret {
    /// Says which secret sealed, and nothing about it.
    id: u8,
    bytes: Vec<u8>,
}

impl Secrets {
    /// One or two secrets.
    ///
    /// # Errors
    ///
    /// None, more, or one that is short.
    pub fn new<S: AsRef<[u8]>>(secrets: &[S]) -> Result<Self, BadSecrets> {
        if secrets.is_empty() || secrets.len() > SECRETS_MAX {
            return Err(BadSecrets);
        }
        let secret = |secret: &S| {
            let bytes = secret.as_ref().to_vec();
            let enough = bytes.len() >= SECRET_BYTES_MIN;
            let [id] =
                derive(&bytes, &[], b"trestle gossip 1 id").ok().filter(|_| enough).ok_or(BadSecrets)?;
            Ok(Secret { id, bytes })
        };
        Ok(Self(secrets.iter().map(secret).collect::<Result<_, _>>()?))
    }

    /// The keys that may have sealed a datagram of a sender: one, or both where the ids of two secrets are the same.
    pub(super) fn keys(&self, id: u8, salt: &[u8; SALT_BYTES]) -> impl Iterator<Item = LessSafeKey> {
        self.0.iter().filter(move |secret| secret.id == id).filter_map(|secret| secret.key(salt).ok())
    }
}

impl fmt::Debug for Secrets {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} secrets", self.0.len())
    }
}

impl Secret {
    fn key(&self, salt: &[u8; SALT_BYTES]) -> io::Result<LessSafeKey> {
        let key: [u8; KEY_BYTES] = derive(&self.bytes, salt, b"trestle gossip 1 key")?;
        Ok(LessSafeKey::new(UnboundKey::new(&CHACHA20_POLY1305, &key).map_err(|_| failed())?))
    }
}

/// HKDF-SHA256.
fn derive<const BYTES: usize>(secret: &[u8], salt: &[u8], what: &'static [u8]) -> io::Result<[u8; BYTES]> {
    struct Length(usize);
    impl KeyType for Length {
        fn len(&self) -> usize {
            self.0
        }
    }
    let mut derived = [0; BYTES];
    let extracted = Salt::new(HKDF_SHA256, salt).extract(secret);
    let expanded = extracted.expand(&[what], Length(BYTES)).and_then(|key| key.fill(&mut derived));
    expanded.map(|()| derived).map_err(|_| failed())
}

fn failed() -> io::Error {
    io::Error::other("the crypto library refuses")
}

/// The nonce of a counter. A key is of one sender and run, so none is used twice.
pub(super) fn nonce(counter: u64) -> Nonce {
    let mut nonce = [0; NONCE_LEN];
    nonce[NONCE_LEN - 8..].copy_from_slice(&counter.to_be_bytes());
    Nonce::assume_unique_for_key(nonce)
}

/// Seals what this process sends.
pub(super) struct Sealer {
    key: LessSafeKey,
    prefix: [u8; HEADER_BYTES - 8],
    counter: u64,
}

impl Sealer {
    /// `salt` must be random: it makes the key of this process.
    pub(super) fn new(secrets: &Secrets, salt: [u8; SALT_BYTES]) -> io::Result<Self> {
        let first = secrets.0.first().ok_or_else(failed)?;
        let mut prefix = [VERSION; HEADER_BYTES - 8];
        prefix[1] = first.id;
        prefix[2..].copy_from_slice(&salt);
        Ok(Self { key: first.key(&salt)?, prefix, counter: 0 })
    }

    /// The datagrams of a message, in the order of its parts; none if it is larger than `PARTS_MAX` parts.
    pub(super) fn seal(&mut self, message: &[u8], unix_ms: u64) -> io::Result<Option<Vec<Vec<u8>>>> {
        let parts = message.len().div_ceil(PART_BYTES_MAX).max(1);
        if parts > PARTS_MAX {
            return Ok(None);
        }
        let mut datagrams = Vec::with_capacity(parts);
        for part in 0..parts {
            let from = part * PART_BYTES_MAX;
            let bytes = &message[from..message.len().min(from + PART_BYTES_MAX)];
            // Both are at most `PARTS_MAX`.
            datagrams.push(self.datagram((part as u8, parts as u8), bytes, unix_ms)?);
        }
        Ok(Some(datagrams))
    }

    fn datagram(&mut self, (part, parts): (u8, u8), bytes: &[u8], unix_ms: u64) -> io::Result<Vec<u8>> {
        let counter = self.counter;
        // Before it is used: a nonce is never used again, whatever fails.
        self.counter = counter.checked_add(1).ok_or_else(failed)?;
        let mut datagram = Vec::with_capacity(DATAGRAM_BYTES_MAX);
        datagram.extend_from_slice(&self.prefix);
        datagram.extend_from_slice(&counter.to_be_bytes());
        let mut header = [0; HEADER_BYTES];
        header.copy_from_slice(&datagram);
        datagram.extend_from_slice(&unix_ms.to_be_bytes());
        datagram.extend_from_slice(&[part, parts]);
        datagram.extend_from_slice(bytes);
        let sealed = &mut datagram[HEADER_BYTES..];
        let tag = self.key.seal_in_place_separate_tag(nonce(counter), Aad::from(header), sealed);
        datagram.extend_from_slice(tag.map_err(|_| failed())?.as_ref());
        Ok(datagram)
    }
}

/// What stands in the clear.
pub(super) struct Header {
    pub(super) key_id: u8,
    pub(super) salt: [u8; SALT_BYTES],
    pub(super) counter: u64,
    pub(super) bytes: [u8; HEADER_BYTES],
}

impl Header {
    pub(super) fn read(datagram: &[u8]) -> Option<Self> {
        let bytes: [u8; HEADER_BYTES] = *datagram.first_chunk()?;
        let (prefix, counter) = bytes.split_last_chunk()?;
        let ([version, key_id], salt) = prefix.split_first_chunk()?;
        let salt = salt.try_into().ok()?;
        (*version == VERSION).then_some(Self {
            key_id: *key_id,
            salt,
            counter: u64::from_be_bytes(*counter),
            bytes,
        })
    }
}

/// What was sealed.
pub(super) struct Inside<'a> {
    pub(super) unix_ms: u64,
    pub(super) part: u8,
    pub(super) parts: u8,
    pub(super) bytes: &'a [u8],
}

impl<'a> Inside<'a> {
    /// Opens what follows a header, in place.
    pub(super) fn open(key: &LessSafeKey, header: &Header, datagram: &'a mut [u8]) -> Option<Self> {
        let sealed = datagram.get_mut(HEADER_BYTES..)?;
        let opened = key.open_in_place(nonce(header.counter), Aad::from(header.bytes), sealed).ok()?;
        let (unix_ms, rest) = opened.split_first_chunk()?;
        let ([part, parts], bytes) = rest.split_first_chunk()?;
        let known = part < parts && usize::from(*parts) <= PARTS_MAX;
        known.then_some(Self { unix_ms: u64::from_be_bytes(*unix_ms), part: *part, parts: *parts, bytes })
    }
}
