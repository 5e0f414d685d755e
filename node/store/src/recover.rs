//! What a start finds: segments that were still written are closed, and the calls that were open in them.

use crate::{
    folder::{Folder, OpenError},
    line::{Line, OutcomeKind},
    payload::{IntentSeen, read_intent, read_outcome, write_outcome},
    record::{self, Kind, Place, Records, Skipped},
    segment::{HEADER_BYTES, Header, Name, NoHeader},
    summary::{self, Sealed},
};
use std::{
    collections::BTreeMap,
    fs::{self, OpenOptions},
    os::unix::fs::FileExt,
    path::PathBuf,
    sync::Arc,
};

/// What a start found.
#[derive(Debug, Default)]
pub struct Recovery {
    /// Calls that were open when the last process ended, as they were closed: by the estimate of their intents.
    pub closed: Vec<Line>,
    /// What could not be read.
    pub damage: Damage,
}

/// What could not be read. All that lies around it was.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Damage {
    /// Records, at least.
    pub records: u64,
    /// Bytes between records that are whole.
    pub bytes: u64,
    /// Segments without a header, and where they are now.
    pub set_aside: Vec<PathBuf>,
}

/// Sealed segments, and the number of the next one.
type Found = (BTreeMap<Name, Arc<Sealed>>, u64, Recovery);

/// Reads what there is and closes what was open. If this is cut off it begins again at the next start, with what is left.
pub(crate) fn all(folder: &Folder) -> Result<Found, OpenError> {
    let refused = |error| OpenError::Refused(folder.path().to_owned(), error);
    let (mut sealed, mut recovery) = (BTreeMap::new(), Recovery::default());
    let mut last = folder.sequence().map_err(refused)?;
    for name in folder.names().map_err(refused)? {
        last = last.max(name.sequence);
        let found = match summary::read(folder, name) {
            Some(found) => Some(found),
            None => one(folder, name, &mut recovery)?,
        };
        sealed.extend(found.map(|found| (name, Arc::new(found))));
    }
    Ok((sealed, last + 1, recovery))
}

/// Closes and seals one segment; `None` if there is nothing in it.
fn one(folder: &Folder, name: Name, recovery: &mut Recovery) -> Result<Option<Sealed>, OpenError> {
    let refused = |error| OpenError::Refused(folder.path().to_owned(), error);
    let path = folder.segment(name);
    let mut bytes = fs::read(&path).map_err(refused)?;
    let header = match Header::read(&bytes) {
        Ok(header) => header,
        Err(NoHeader::Later) => return Err(OpenError::Later(folder.path().to_owned())),
        Err(NoHeader::Damaged) => {
            recovery.damage.set_aside.push(folder.set_aside(name).map_err(refused)?);
            return Ok(None);
        }
    };
    let closing = close(&bytes, header.salt);
    if closing.end == HEADER_BYTES && bytes[HEADER_BYTES..].iter().all(|byte| *byte == 0) {
        folder.remove(name).map_err(refused)?;
        return Ok(None);
    }
    // Over what is there: the room was kept for it, so that a full disk does not matter. Only then is the file cut.
    let file = OpenOptions::new().write(true).open(&path).map_err(refused)?;
    file.write_all_at(&closing.outcomes, closing.end as u64).map_err(refused)?;
    file.sync_data().map_err(refused)?;
    bytes.resize(closing.end, 0);
    bytes.extend_from_slice(&closing.outcomes);
    recovery.closed.extend(closing.lines);
    recovery.damage.records += closing.skipped.records;
    recovery.damage.bytes += closing.skipped.bytes;
    summary::seal(folder, &header, &bytes).map(Some).map_err(refused)
}

/// How a segment is closed.
struct Closing {
    /// The end of the last whole record; what follows it is nothing, or was not finished.
    end: usize,
    /// Records to write there.
    outcomes: Vec<u8>,
    lines: Vec<Line>,
    skipped: Skipped,
}

fn close(bytes: &[u8], salt: u32) -> Closing {
    let mut open: BTreeMap<usize, IntentSeen<'_>> = BTreeMap::new();
    let mut last_ms = 0;
    let mut records = Records::new(bytes, salt, HEADER_BYTES);
    for record in &mut records {
        match record.kind {
            Kind::Intent => {
                let Some(intent) = read_intent(record.payload) else { continue };
                last_ms = intent.intent.start_ms;
                open.insert(record.offset, intent);
            }
            Kind::Outcome => {
                let Some(seen) = read_outcome(record.payload) else { continue };
                last_ms = seen.outcome.end_ms;
                open.remove(&seen.intent);
            }
            Kind::Later => {}
        }
    }
    let end = records.end;
    let (mut outcomes, mut lines, mut scratch) = (Vec::new(), Vec::new(), Vec::new());
    for (number, (offset, intent)) in (records.next_number..).zip(open) {
        // Nothing is known of it from the last moment that is known here.
        let outcome = intent.as_estimated(OutcomeKind::Killed, last_ms);
        let place = Place { salt, offset: end + outcomes.len(), number };
        record::write(&mut scratch, Kind::Outcome, place, |out| {
            write_outcome(out, &outcome, offset, intent.charge_count());
        });
        outcomes.extend_from_slice(&scratch);
        lines.push(intent.line(&outcome));
    }
    Closing { end, outcomes, lines, skipped: records.skipped }
}
