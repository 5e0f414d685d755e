//! The edits that a request of this dialect needs to stay in it. The path names the model, so none is set.

use super::names::snake;
use crate::{Edits, Envelope, Target, dropped, edit};

/// The edits for the target, and the members that quirks took out. A member may have come by its other spelling,
/// and the vendor refuses both at once.
pub(super) fn edit(envelope: &Envelope, target: &Target<'_>) -> (Edits, Vec<String>) {
    let (mut edits, mut dropped) = (Edits::default(), Vec::new());
    edits.remove(envelope, "fallbacks");
    let is_set = |name: &String| target.params.iter().any(|(param, _)| param == name);
    for name in &target.quirks.drop {
        let other = snake(name);
        if other != *name && envelope.get(&other).is_some() {
            edits.remove(envelope, &other);
            if !is_set(name) {
                dropped::note(&mut dropped, other);
            }
        }
    }
    for (from, to) in &target.quirks.rename {
        edits.rename(envelope, &snake(from), to);
    }
    for (name, _) in target.params {
        let other = snake(name);
        if other != *name {
            edits.remove(envelope, &other);
        }
    }
    edit::members(envelope, target, &mut edits, &mut dropped);
    (edits, dropped)
}
