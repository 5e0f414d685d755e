//! The member names seen so far in one object, to find duplicates.

use super::unescape;
use smallvec::SmallVec;
use std::{borrow::Cow, collections::HashSet};

/// Up to this many names are compared one by one, which is the normal case; above, they are hashed (with the
/// standard library's seeded hash, since strangers choose the names).
const FEW: usize = 16;

/// A set of names, compared by what they mean and not by how they are escaped.
#[derive(Default)]
pub(crate) struct Names<'a> {
    few: SmallVec<[Cow<'a, [u8]>; FEW]>,
    many: HashSet<Cow<'a, [u8]>>,
}

impl<'a> Names<'a> {
    /// Adds a name, given escaped; whether it is new.
    pub(crate) fn add(&mut self, escaped: &'a [u8]) -> bool {
        let name = match memchr::memchr(b'\\', escaped) {
            None => Cow::Borrowed(escaped),
            Some(_) => Cow::Owned(unescape(escaped).into_owned().into_bytes()),
        };
        if !self.many.is_empty() {
            return self.many.insert(name);
        }
        if self.few.contains(&name) {
            return false;
        }
        if self.few.len() < FEW {
            self.few.push(name);
            return true;
        }
        self.many.extend(self.few.drain(..));
        self.many.insert(name)
    }
}

/// A name as an error message shows it: plain, and cut where it is long.
pub(crate) fn shown(escaped: &[u8]) -> String {
    const LONGEST_CHARS: usize = 64;
    unescape(escaped).chars().take(LONGEST_CHARS).collect()
}
