//! The edits that a request of this dialect needs to stay in it. The model stands in the path, and content is always
//! an array of blocks.

use crate::{Edits, Envelope, Target, edit};

/// The edits for the target, and the members that quirks took out.
pub(super) fn edit(envelope: &Envelope, target: &Target<'_>) -> (Edits, Vec<String>) {
    let (mut edits, mut dropped) = (Edits::default(), Vec::new());
    edits.remove(envelope, "fallbacks");
    edit::members(envelope, target, &mut edits, &mut dropped);
    (edits, dropped)
}
