//! What vendors keep and give ids for (answers of Responses, files, batches), and where these ids stand in what they
//! write. Only the ids are changed, by span.

use crate::{
    Dialect, Envelope, frame,
    json::{Kind, Member, Raw, Writer, escape, offset_in, string_members},
};
use bytes::Bytes;
use memchr::memmem::Finder;
use std::{ops::Range, sync::LazyLock};

/// What a vendor keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Stored {
    /// An answer of OpenAI Responses.
    Response,
    /// A file of OpenAI.
    File,
    /// One whose requests were looked at, so that it may be the input of a batch.
    Input,
    /// A batch of OpenAI.
    Batch,
    /// A batch of Anthropic.
    MessageBatch,
}

/// What stands in place of a vendor's id; `None` if that cannot be.
pub type Seal<'a> = &'a mut dyn FnMut(Stored, &str) -> Option<String>;

/// An answer in which ids cannot be found or replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unreadable;

impl Stored {
    /// The dialect whose owner keeps it.
    pub const fn dialect(self) -> Dialect {
        match self {
            Self::Response => Dialect::OpenAiResponses,
            Self::File | Self::Input | Self::Batch => Dialect::OpenAiChat,
            Self::MessageBatch => Dialect::AnthropicMessages,
        }
    }

    /// What ids of it begin with; the first is written where the vendor's own begins with none of them.
    pub const fn prefixes(self) -> &'static [&'static str] {
        match self {
            Self::Response => &["resp_"],
            Self::File | Self::Input => &["file-", "file_"],
            Self::Batch => &["batch_"],
            Self::MessageBatch => &["msgbatch_"],
        }
    }

    /// Where ids stand in what describes it.
    const fn members(self) -> &'static [(&'static str, Self)] {
        match self {
            Self::Response => &[("id", Self::Response), ("previous_response_id", Self::Response)],
            Self::File => &[("id", Self::File)],
            Self::Input => &[("id", Self::Input)],
            Self::Batch => &[
                ("id", Self::Batch),
                ("input_file_id", Self::Input),
                ("output_file_id", Self::File),
                ("error_file_id", Self::File),
            ],
            Self::MessageBatch => &[("id", Self::MessageBatch)],
        }
    }

    /// What the vendor says of an id that it does not know, and with which code.
    pub fn unknown(self, id: &str) -> (String, Option<&'static str>) {
        match self {
            Self::Response => (format!("Response with id '{id}' not found."), None),
            Self::File | Self::Input => (format!("No such File object: {id}"), None),
            Self::Batch => (format!("No batch found with id '{id}'."), None),
            Self::MessageBatch => (format!("Message batch `{id}` not found."), None),
        }
    }
}

/// What a request to OpenAI Responses goes on with.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Continued {
    /// The id of an answer before.
    pub response: Option<String>,
    /// A conversation that the vendor keeps.
    pub conversation: bool,
}

/// What a request to OpenAI Responses goes on with.
pub fn continued(envelope: &Envelope) -> Continued {
    let response = envelope.get(PREVIOUS).and_then(Raw::string).map(|id| id.into_owned());
    let conversation = envelope.get("conversation").is_some_and(|value| !value.is_null());
    Continued { response, conversation }
}

/// The member that says which answer a request goes on with.
pub const PREVIOUS: &str = "previous_response_id";

/// A request to OpenAI with other ids of the files that it names; `None` where `open` knows none of them.
pub fn with_files(request: &[u8], open: &mut dyn FnMut(&str) -> Option<String>) -> Option<Bytes> {
    let mut changes = Vec::new();
    for at in string_members(request, &FILE) {
        let rest = request.get(at..).unwrap_or_default();
        // What is escaped is no id.
        let end = memchr::memchr2(b'"', b'\\', rest).filter(|end| rest.get(*end) == Some(&b'"'));
        let id = end.and_then(|end| std::str::from_utf8(rest.get(..end)?).ok());
        if let Some(id) = id
            && let Some(theirs) = open(id)
        {
            let mut written = Vec::with_capacity(theirs.len());
            escape(&theirs, &mut written);
            changes.push((at..at + id.len(), written));
        }
    }
    (!changes.is_empty()).then(|| splice(request, &changes).into())
}

/// The member that names a file.
static FILE: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("\"file_id\""));

/// What describes something that is kept, with other ids.
pub fn with_ids(body: &Bytes, stored: Stored, seal: Seal<'_>) -> Result<Bytes, Unreadable> {
    let root = body.trim_ascii();
    // An answer that was cut off is none.
    Raw::outline(root, "id").map_err(|_| Unreadable)?;
    let mut changes = Vec::new();
    replace(Raw::from_valid(root), (body, stored), seal, &mut changes)?;
    Ok(splice(body, &changes).into())
}

/// An event of a streamed answer of OpenAI Responses that describes the answer, with other ids.
pub fn event_with_ids(event: &frame::Event<'_>, seal: Seal<'_>) -> Result<Vec<u8>, Unreadable> {
    let data = event.data.as_deref().ok_or(Unreadable)?;
    let Some(response) = Raw::from_valid(data.trim_ascii()).get("response") else {
        return Ok(event.raw.to_vec());
    };
    let mut changes = Vec::new();
    if offset_in(event.raw, data).is_some() {
        replace(response, (event.raw, Stored::Response), seal, &mut changes)?;
        return Ok(splice(event.raw, &changes));
    }
    // Data on several lines: line feeds are white space there.
    replace(response, (data, Stored::Response), seal, &mut changes)?;
    let mut data = splice(data, &changes);
    data.iter_mut().filter(|byte| matches!(byte, b'\n' | b'\r')).for_each(|byte| *byte = b' ');
    Ok([b"event: ", event.name, b"\ndata: ", &data, b"\n\n"].concat())
}

type Change = (Range<usize>, Vec<u8>);

fn replace(
    object: Raw<'_>,
    (whole, stored): (&[u8], Stored),
    seal: Seal<'_>,
    changes: &mut Vec<Change>,
) -> Result<(), Unreadable> {
    let known = |member: &Member<'_>| stored.members().iter().find(|(name, _)| member.is(name));
    let (mut own, mut results) = (None, None);
    for member in object.members() {
        let value = member.value;
        if value.kind() != Kind::String {
            continue;
        }
        if stored == Stored::MessageBatch && member.is("results_url") {
            results = Some(value);
        }
        let Some((name, of)) = known(&member) else { continue };
        let id = seal(*of, &value.string().unwrap_or_default()).ok_or(Unreadable)?;
        changes.push(change(whole, value, &id)?);
        if *name == "id" {
            own = Some(id);
        }
    }
    if let (Some(results), Some(id)) = (results, own) {
        // A path: nobody here knows under which address clients see this gateway, and SDKs put their own before it.
        changes.push(change(whole, results, &format!("/v1/messages/batches/{id}/results"))?);
    }
    changes.sort_by_key(|(span, _)| span.start);
    Ok(())
}

fn change(whole: &[u8], value: Raw<'_>, text: &str) -> Result<Change, Unreadable> {
    let at = offset_in(whole, value.bytes()).ok_or(Unreadable)?;
    let mut written = Writer::with_capacity(text.len() + 2);
    written.string(text);
    Ok((at..at + value.bytes().len(), written.finish()))
}

fn splice(whole: &[u8], changes: &[Change]) -> Vec<u8> {
    let more: usize = changes.iter().map(|(_, with)| with.len()).sum();
    let (mut out, mut kept) = (Vec::with_capacity(whole.len() + more), 0);
    for (span, with) in changes {
        out.extend_from_slice(whole.get(kept..span.start).unwrap_or_default());
        out.extend_from_slice(with);
        kept = span.end;
    }
    out.extend_from_slice(whole.get(kept..).unwrap_or_default());
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Framing;

    fn sealed(stored: Stored, id: &str) -> Option<String> {
        (id != "bad").then(|| format!("{}<{id}>", stored.prefixes()[0]))
    }

    fn check(stored: Stored, body: &str, expected: Result<&str, Unreadable>) {
        let found = with_ids(&Bytes::copy_from_slice(body.as_bytes()), stored, &mut sealed);
        let found = found.map(|bytes| String::from_utf8(bytes.to_vec()).unwrap());
        assert_eq!(found.as_deref().map_err(|error| *error), expected, "{body}");
    }

    #[test]
    fn only_ids_change() {
        check(
            Stored::Response,
            r#" {"id" : "r1","output":[{"id":"x"}],"previous_response_id":null} "#,
            Ok(r#" {"id" : "resp_<r1>","output":[{"id":"x"}],"previous_response_id":null} "#),
        );
        check(
            Stored::Batch,
            r#"{"error_file_id":null,"input_file_id":"f1","id":"b1","output_file_id":"f2"}"#,
            Ok(
                r#"{"error_file_id":null,"input_file_id":"file-<f1>","id":"batch_<b1>","output_file_id":"file-<f2>"}"#,
            ),
        );
        check(
            Stored::MessageBatch,
            r#"{"results_url":"https://x/b1/results","id":"b1"}"#,
            Ok(r#"{"results_url":"/v1/messages/batches/msgbatch_<b1>/results","id":"msgbatch_<b1>"}"#),
        );
        check(
            Stored::MessageBatch,
            r#"{"id":"b","results_url":null}"#,
            Ok(r#"{"id":"msgbatch_<b>","results_url":null}"#),
        );
        check(Stored::File, r#"{"id":"bad"}"#, Err(Unreadable));
        check(Stored::File, r#"{"id":"f1","x":"#, Err(Unreadable));
        check(Stored::File, "<html>", Err(Unreadable));
    }

    #[test]
    fn files_get_other_ids() {
        let body = br#"{"a":{"file_id": "f1"},"b":"\"file_id\":\"f1\"","c":[{"file_id":"x"},{"file_id":null},{"file_id":"f1"}]}"#;
        let mut seen = Vec::new();
        let mut open = |id: &str| {
            seen.push(id.to_owned());
            (id == "f1").then(|| "file-1".to_owned())
        };
        let found = with_files(body, &mut open).unwrap();
        let expected = String::from_utf8_lossy(body).replace("\"f1\"", "\"file-1\"");
        assert_eq!(found, expected);
        assert_eq!(seen, ["f1", "x", "f1"]);
        assert_eq!(with_files(body, &mut |_| None), None);
    }

    #[test]
    fn events_keep_their_form() {
        for (event, expected) in [
            (
                "event: response.created\r\ndata:{\"response\":{\"id\":\"r\",\"previous_response_id\":\"p\"}}\r\n\r\n",
                "event: response.created\r\ndata:{\"response\":{\"id\":\"resp_<r>\",\"previous_response_id\":\"resp_<p>\"}}\r\n\r\n",
            ),
            (
                "event: a\ndata: {\"response\":\ndata: {\"id\":\"r\"}}\n\n",
                "event: a\ndata: {\"response\": {\"id\":\"resp_<r>\"}}\n\n",
            ),
            ("data: {\"x\":1}\n\n", "data: {\"x\":1}\n\n"),
        ] {
            let read = Framing::Sse.events(event.as_bytes()).next().unwrap();
            let found = event_with_ids(&read, &mut sealed).unwrap();
            assert_eq!(String::from_utf8(found).unwrap(), expected);
        }
    }
}
