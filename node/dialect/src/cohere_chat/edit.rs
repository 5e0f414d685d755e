//! The edits that a request of this dialect needs to stay in it.

use crate::{Edits, Envelope, Target, edit};

/// The edits for the target, and the members that quirks took out.
pub(super) fn edit(envelope: &Envelope, target: &Target<'_>) -> (Edits, Vec<String>) {
    let (mut edits, mut dropped) = (Edits::default(), Vec::new());
    edit::model(envelope, target, &mut edits);
    if target.quirks.flatten_content {
        edit::flatten(envelope, &mut edits, &mut dropped);
    }
    edit::members(envelope, target, &mut edits, &mut dropped);
    (edits, dropped)
}
