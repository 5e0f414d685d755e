//! What arrives: opened, of now, and seen for the first time; or refused, with a reason that is counted.

use super::{
    parts::Parts,
    seal::{Header, Inside, SALT_BYTES, Secrets},
    window::Window,
};
use ring::aead::LessSafeKey;
use std::collections::HashMap;

/// How far clocks of nodes may be apart, and how long a datagram may be under way.
const CLOCKS_MS: u64 = 30_000;
/// After that no datagram of a sender that was seen could be of now, so its window is of no use.
const FORGET_MS: u64 = 2 * CLOCKS_MS;
/// A sender is a run of a node. More than that within a minute are none of ours.
const SENDERS_MAX: usize = 1024;

/// Why a datagram was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refused {
    /// Not of this protocol.
    Garbage,
    /// Sealed with another secret, or changed on its way.
    Sealed,
    /// Of another time, or from a node whose clock is wrong.
    Time,
    /// Seen before, or one of our own.
    Replayed,
    /// There are too many senders.
    Crowded,
}

/// Opens what arrives.
pub(super) struct Opener {
    secrets: Secrets,
    own: [u8; SALT_BYTES],
    senders: HashMap<(u8, [u8; SALT_BYTES]), Sender>,
    parts: Parts,
}

struct Sender {
    key: LessSafeKey,
    window: Window,
    /// When it was last heard of.
    heard_ms: u64,
}

impl Opener {
    /// `own` is the salt of this process: what it sent itself comes from nobody else.
    pub(super) fn new(secrets: Secrets, own: [u8; SALT_BYTES]) -> Self {
        Self { secrets, own, senders: HashMap::new(), parts: Parts::default() }
    }

    /// The message, if the datagram is the last part of one.
    pub(super) fn open(&mut self, datagram: &mut [u8], unix_ms: u64) -> Result<Option<Vec<u8>>, Refused> {
        let header = Header::read(datagram).ok_or(Refused::Garbage)?;
        if header.salt == self.own {
            return Err(Refused::Replayed);
        }
        let id = (header.key_id, header.salt);
        // Nothing is remembered of a sender before one of its datagrams was opened: strangers cannot fill the memory.
        let inside = match self.senders.get_mut(&id) {
            Some(sender) => {
                let inside = Inside::open(&sender.key, &header, datagram).ok_or(Refused::Sealed)?;
                of_now(&inside, unix_ms)?;
                if !sender.window.take(header.counter) {
                    return Err(Refused::Replayed);
                }
                sender.heard_ms = unix_ms;
                inside
            }
            None => {
                let (key, inside) = first(&self.secrets, &header, datagram).ok_or(Refused::Sealed)?;
                of_now(&inside, unix_ms)?;
                self.make_room(unix_ms)?;
                let window = Window::new(header.counter);
                self.senders.insert(id, Sender { key, window, heard_ms: unix_ms });
                inside
            }
        };
        Ok(self.parts.add(header.salt, header.counter, &inside, unix_ms))
    }

    fn make_room(&mut self, unix_ms: u64) -> Result<(), Refused> {
        if self.senders.len() < SENDERS_MAX {
            return Ok(());
        }
        self.senders.retain(|_, sender| unix_ms.saturating_sub(sender.heard_ms) <= FORGET_MS);
        if self.senders.len() < SENDERS_MAX { Ok(()) } else { Err(Refused::Crowded) }
    }
}

fn of_now(inside: &Inside<'_>, unix_ms: u64) -> Result<(), Refused> {
    if unix_ms.abs_diff(inside.unix_ms) <= CLOCKS_MS { Ok(()) } else { Err(Refused::Time) }
}

/// Opens the first datagram of a sender. The key is kept for the next ones.
fn first<'a>(
    secrets: &Secrets,
    header: &Header,
    datagram: &'a mut [u8],
) -> Option<(LessSafeKey, Inside<'a>)> {
    // Opening destroys what it cannot open, and there may be two secrets to try.
    let kept = datagram.to_vec();
    let mut fits = None;
    for key in secrets.keys(header.key_id, &header.salt) {
        if Inside::open(&key, header, &mut kept.clone()).is_some() {
            fits = Some(key);
            break;
        }
    }
    let key = fits?;
    let inside = Inside::open(&key, header, datagram)?;
    Some((key, inside))
}
