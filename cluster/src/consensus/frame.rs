//! What the consensus libraries of two nodes say to each other, as bytes: a format byte, then that. Entries are sent as they
//! are kept. Errors are not sent: a node that cannot answer is as good as unreachable.

use super::{
    disk::DiskError,
    log_store,
    record::{self, RecordError},
    types::{LogId, Types, Vote},
};
use bytes::Bytes;
use openraft::raft::AppendEntriesRequest;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use trestle_proto::raft::{AppendContent, Frame};

/// All of an append but its entries.
#[derive(Serialize, Deserialize)]
struct AppendHead {
    vote: Vote,
    previous: Option<LogId>,
    committed: Option<LogId>,
}

/// A value of the library as a frame.
pub(super) fn write(content: &impl Serialize) -> Result<Frame, RecordError> {
    Ok(Frame { content: record::write_json(content)?.into() })
}

/// A frame as such a value.
pub(super) fn read<T: DeserializeOwned>(frame: &Frame) -> Result<T, RecordError> {
    record::read_json(&frame.content)
}

/// Entries and what goes with them as a frame.
pub(super) fn write_append(append: AppendEntriesRequest<Types>) -> Result<Frame, DiskError> {
    let AppendEntriesRequest { vote, prev_log_id: previous, entries, leader_commit: committed } = append;
    let head = record::write_json(&AppendHead { vote, previous, committed })?.into();
    let entries = entries.into_iter().map(|entry| Ok(Bytes::from(log_store::write(entry)?)));
    let content = AppendContent { head, entries: entries.collect::<Result<_, DiskError>>()? };
    Ok(Frame { content: record::write(&content).into() })
}

/// What was written so.
pub(super) fn read_append(frame: &Frame) -> Result<AppendEntriesRequest<Types>, DiskError> {
    let content: AppendContent = record::read(&frame.content)?;
    let AppendHead { vote, previous, committed } = record::read_json(&content.head)?;
    let entries = content.entries.iter().map(|entry| log_store::read(entry));
    let entries = entries.collect::<Result<_, DiskError>>()?;
    Ok(AppendEntriesRequest { vote, prev_log_id: previous, entries, leader_commit: committed })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::consensus::types::{Entry, Proposal};
    use openraft::{CommittedLeaderId, EntryPayload, raft::VoteRequest};
    use trestle_proto::log;
    use trestle_proto::prost::Message;

    #[test]
    fn what_is_said_arrives() {
        let id = |index| LogId::new(CommittedLeaderId::new(3, u64::MAX), index);
        let command = log::Command { request_id: b"r".to_vec().into(), ..log::Command::default() };
        let command = EntryPayload::Normal(Proposal(command.encode_to_vec()));
        let entry = |index, payload| Entry { log_id: id(index), payload };
        let append = AppendEntriesRequest {
            vote: Vote::new_committed(3, u64::MAX),
            prev_log_id: Some(id(4)),
            entries: vec![entry(5, EntryPayload::Blank), entry(6, command)],
            leader_commit: None,
        };
        let read = read_append(&write_append(append.clone()).unwrap()).unwrap();
        assert_eq!((read.vote, read.prev_log_id, read.leader_commit), (append.vote, Some(id(4)), None));
        assert_eq!(read.entries, append.entries);
        let vote = VoteRequest::new(Vote::new(4, 1), Some(id(6)));
        assert_eq!(super::read::<VoteRequest<u64>>(&write(&vote).unwrap()).unwrap(), vote);
    }

    #[test]
    fn what_is_no_frame_is_an_error() {
        for content in [&b""[..], b"\x01", b"\x02{}", b"\x01{", b"\x01\x0a\x05{}"] {
            let frame = Frame { content: content.to_vec().into() };
            assert!(read::<VoteRequest<u64>>(&frame).is_err() && read_append(&frame).is_err(), "{content:?}");
        }
    }
}
