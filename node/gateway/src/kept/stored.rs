//! Requests about what a provider keeps: an answer, a file, a batch. They name no model but an id, and the id says which
//! route keeps it.

use super::{
    Ids, Pin,
    batch::Batch,
    pin::{UNSEALED, ambiguous},
    sole_route,
};
use crate::{
    Endpoint, RequestLine, cause::Failed, prepare::Prepared, receive::Ask, route::Plan, upstream::Outgoing,
};
use http::{Method, uri::PathAndQuery};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use std::sync::Arc;
use trestle_config::{Caller, ProviderConfig, ProviderKind, Snapshot};
use trestle_dialect::{Pieces, Refusal, RefusalKind, Stored, ir::Json, json::Writer};
use trestle_provider::Operation;

/// All but the unreserved characters of RFC 3986.
const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// What is done with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Act {
    /// A new one.
    Create,
    /// All of them.
    List,
    /// What it is.
    Get,
    /// Gone.
    Delete,
    /// Stopped.
    Cancel,
    /// What went into an answer.
    InputItems,
    /// The bytes of a file.
    Content,
    /// The answers of a batch.
    Results,
}

/// Which one, and how.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Item {
    /// Its id, as the client knows it.
    pub id: Option<Box<str>>,
    /// The query, as it came.
    pub query: Box<str>,
}

/// What a path without its prefix and version asks for; a known path with a wrong method is `Err` with those it takes.
pub(crate) fn find(method: &Method, below: &str, query: &str) -> Option<Result<RequestLine, &'static str>> {
    const ALL: [(&str, Stored); 4] = [
        ("messages/batches", Stored::MessageBatch),
        ("responses", Stored::Response),
        ("batches", Stored::Batch),
        ("files", Stored::File),
    ];
    let (stored, rest) = ALL.iter().find_map(|(name, stored)| Some((*stored, below.strip_prefix(name)?)))?;
    let (id, action) = match rest.strip_prefix('/') {
        Some(rest) => {
            let (id, action) = rest.split_once('/').unwrap_or((rest, ""));
            let id = percent_decode_str(id).decode_utf8().ok().filter(|id| !id.is_empty())?;
            (Some(id), action)
        }
        None if rest.is_empty() => (None, ""),
        None => return None,
    };
    let (taken, acts): (_, &[(&str, Act)]) = match (stored, id.is_some(), action) {
        (Stored::Response, false, _) => return None,
        (_, false, _) => ("POST, GET", &[("POST", Act::Create), ("GET", Act::List)]),
        (Stored::Batch, true, "") => ("GET", &[("GET", Act::Get)]),
        (_, true, "") => ("GET, DELETE", &[("GET", Act::Get), ("DELETE", Act::Delete)]),
        (Stored::Response, true, "input_items") => ("GET", &[("GET", Act::InputItems)]),
        (Stored::File, true, "content") => ("GET", &[("GET", Act::Content)]),
        (Stored::MessageBatch, true, "results") => ("GET", &[("GET", Act::Results)]),
        (Stored::Response | Stored::Batch | Stored::MessageBatch, true, "cancel") => {
            ("POST", &[("POST", Act::Cancel)])
        }
        _ => return None,
    };
    let Some((_, act)) = acts.iter().find(|(name, _)| *name == method.as_str()) else {
        return Some(Err(taken));
    };
    let item = Item { id: id.map(|id| id.into()), query: query.into() };
    Some(Ok(RequestLine { item: Some(Box::new(item)), ..Endpoint::Stored(stored, *act).into() }))
}

impl Item {
    /// Whether an answer is to be told again as a stream.
    pub(crate) fn streams(&self) -> bool {
        self.query.split('&').any(|pair| pair == "stream=true")
    }
}

impl Act {
    /// How it is asked for.
    pub(crate) const fn method(self) -> Method {
        match self {
            Self::Create | Self::Cancel => Method::POST,
            Self::Delete => Method::DELETE,
            Self::List | Self::Get | Self::InputItems | Self::Content | Self::Results => Method::GET,
        }
    }

    /// Whether the answer is what was kept, and not what describes it.
    pub(crate) const fn is_content(self) -> bool {
        matches!(self, Self::Content | Self::Results)
    }

    const fn path(self) -> &'static str {
        match self {
            Self::Cancel => "/cancel",
            Self::InputItems => "/input_items",
            Self::Content => "/content",
            Self::Results => "/results",
            Self::Create | Self::List | Self::Get | Self::Delete => "",
        }
    }
}

/// The name in logs and metrics.
pub(crate) const fn name(stored: Stored, act: Act) -> &'static str {
    match (stored, act) {
        (Stored::Response, Act::Delete) => "responses_delete",
        (Stored::Response, Act::Cancel) => "responses_cancel",
        (Stored::Response, Act::InputItems) => "responses_input_items",
        (Stored::Response, _) => "responses_get",
        (Stored::File | Stored::Input, Act::Create) => "files_create",
        (Stored::File | Stored::Input, Act::List) => "files_list",
        (Stored::File | Stored::Input, Act::Delete) => "files_delete",
        (Stored::File | Stored::Input, Act::Content) => "files_content",
        (Stored::File | Stored::Input, _) => "files_get",
        (Stored::Batch, Act::Create) => "batches_create",
        (Stored::Batch, Act::List) => "batches_list",
        (Stored::Batch, Act::Cancel) => "batches_cancel",
        (Stored::Batch, _) => "batches_get",
        (Stored::MessageBatch, Act::Create) => "message_batches_create",
        (Stored::MessageBatch, Act::List) => "message_batches_list",
        (Stored::MessageBatch, Act::Delete) => "message_batches_delete",
        (Stored::MessageBatch, Act::Cancel) => "message_batches_cancel",
        (Stored::MessageBatch, Act::Results) => "message_batches_results",
        (Stored::MessageBatch, _) => "message_batches_get",
    }
}

/// The one target that keeps it, or will.
pub(crate) fn plan(
    snapshot: &Snapshot,
    caller: Option<&Caller>,
    ask: &mut Ask,
    (stored, act): (Stored, Act),
) -> Result<Plan, Refusal> {
    if act == Act::List {
        return Err(unlisted());
    }
    ask.ids = Ids::of(snapshot, caller).map(Arc::new);
    let id = ask.item.as_ref().and_then(|item| item.id.clone());
    let pin = match (&ask.ids, id) {
        (Some(ids), Some(id)) => {
            let of_batch = || ids.find(snapshot, Stored::Input, &id).filter(|_| stored == Stored::File);
            ids.find(snapshot, stored, &id).or_else(of_batch).ok_or_else(|| unknown(stored, &id))?
        }
        (Some(_), None) if act == Act::Create => create(snapshot, caller, ask, stored)?,
        (Some(_), None) => return Err(unknown(stored, "")),
        (None, Some(id)) if stored == Stored::Response => {
            let provider = sole_route(snapshot).ok_or_else(|| ambiguous("response_id", UNSEALED))?;
            let (theirs, ours) = (id.to_string(), id.to_string());
            Pin { stored, provider: Arc::clone(provider), credential: None, theirs, ours }
        }
        (None, _) => return Err(without_key()),
    };
    let target = snapshot.account(&pin.provider);
    ask.pin = Some(pin);
    Ok(Plan::from_iter([target]))
}

fn create(
    snapshot: &Snapshot,
    caller: Option<&Caller>,
    ask: &mut Ask,
    stored: Stored,
) -> Result<Pin, Refusal> {
    let wanted = ask.headers.text("x-trestle-provider").map(str::to_owned);
    let operations = [Operation::stored(stored)];
    let batch = Batch { snapshot, caller, wanted: wanted.as_deref(), operations: &operations };
    match stored {
        Stored::MessageBatch => {
            let (provider, edits) = batch.of_messages(&ask.envelope)?;
            ask.edits = Some(Box::new(edits));
            Ok(at(stored, provider))
        }
        Stored::Batch => of_file(snapshot, ask),
        Stored::File | Stored::Input => file(batch, ask),
        // Made by asking a model.
        Stored::Response => Err(unlisted()),
    }
}

/// Any key of a provider.
fn at(stored: Stored, provider: Arc<ProviderConfig>) -> Pin {
    Pin { stored, provider, credential: None, theirs: String::new(), ours: String::new() }
}

/// A file goes to a provider that keeps files; what is to be the input of a batch, to one that has its models.
fn file(batch: Batch<'_>, ask: &mut Ask) -> Result<Pin, Refusal> {
    let Some(upload) = &ask.upload else {
        let message = "a file is sent as a form: set `content-type: multipart/form-data` with its boundary";
        return Err(Refusal::invalid("content-type", message));
    };
    let form = upload.form();
    if form.field("purpose")? != Some("batch") {
        return Ok(at(Stored::File, batch.account()?));
    }
    let batch = Batch { operations: &[Operation::Files, Operation::Batches], ..batch };
    let (provider, named) = batch.of_lines(&form.file("file")?)?;
    if let Some(named) = &named {
        ask.hold(named.len(), &batch.snapshot.settings)?;
    }
    ask.file = named;
    Ok(at(Stored::Input, provider))
}

/// A batch is made where its file is.
fn of_file(snapshot: &Snapshot, ask: &mut Ask) -> Result<Pin, Refusal> {
    const FILE: &str = "input_file_id";
    let id = ask.envelope.get(FILE).and_then(|id| id.string()).map(|id| id.into_owned());
    let Some(id) = id else {
        return Err(Refusal::invalid(FILE, "`input_file_id` is missing: name a file that was uploaded here"));
    };
    let found = ask.ids.as_ref().and_then(|ids| ids.find(snapshot, Stored::Input, &id));
    let pin = found.ok_or_else(|| Refusal { param: Some(FILE.to_owned()), ..unknown(Stored::File, &id) })?;
    let mut written = Writer::with_capacity(pin.theirs.len() + 2);
    written.string(&pin.theirs);
    let edits = ask.edits.get_or_insert_default();
    edits.set(&ask.envelope, FILE, Json::from_valid(written.finish().into()));
    Ok(Pin { stored: Stored::Batch, ..pin })
}

fn unknown(stored: Stored, id: &str) -> Refusal {
    let shown: String = id.chars().take(128).collect();
    let (message, code) = stored.unknown(&shown);
    Refusal { code, ..Refusal::new(RefusalKind::NotFound, message) }
}

fn unlisted() -> Refusal {
    let message = "lists are not offered here: the provider's would show what others keep in the same account, and this \
                   gateway keeps none; remember the ids that you are given";
    Refusal::new(RefusalKind::NotFound, message)
}

fn without_key() -> Refusal {
    let message = "files and batches need `key_encryption_key` in the settings of the gateway: without it ids cannot be \
                   sealed for their owners";
    Refusal::new(RefusalKind::InvalidRequest, message)
}

/// What is sent.
pub(crate) fn prepare(ask: &Ask, (stored, act): (Stored, Act)) -> Result<Prepared, Failed> {
    let pieces = match (&ask.upload, &ask.file) {
        _ if act != Act::Create => Pieces::new(),
        (None, _) => ask.edits.as_deref().cloned().unwrap_or_default().apply(&ask.envelope),
        (Some(upload), None) => Pieces::from_iter([upload.form().body().clone()]),
        (Some(upload), Some(file)) => upload.form().with_file("file", file.clone()).map_err(Failed::unfit)?,
    };
    Ok(Prepared {
        body: Outgoing::new(pieces),
        more: Vec::new(),
        operation: Operation::stored(stored),
        embeds: None,
        pinned: None,
        dialect: stored.dialect(),
        dropped: Vec::new(),
    })
}

/// The path of one that is kept, from that of all.
pub(crate) fn path(ask: &Ask, all: PathAndQuery) -> Option<PathAndQuery> {
    let (Endpoint::Stored(_, act), Some(item)) = (ask.endpoint, &ask.item) else { return Some(all) };
    let mut path = all.path().to_owned();
    if item.id.is_some() {
        let id = ask.pin.as_ref().map(|pin| pin.theirs.as_str()).unwrap_or_default();
        // Dots alone mean another path.
        if matches!(id, "" | "." | "..") {
            return None;
        }
        path.push('/');
        path.extend(utf8_percent_encode(id, SEGMENT));
        path.push_str(act.path());
    }
    let queries = [all.query().unwrap_or_default(), &item.query];
    let mut between = '?';
    for query in queries.into_iter().filter(|query| !query.is_empty()) {
        path.push(between);
        path.push_str(query);
        between = '&';
    }
    path.parse().ok()
}

/// Whether a provider keeps such things.
pub(crate) fn keeps(kind: &ProviderKind, operation: Operation) -> bool {
    matches!(kind, ProviderKind::Remote(remote) if remote.endpoint(operation, "").is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_name_what_is_kept() {
        let found = |method: &str, below: &str| {
            let method = Method::from_bytes(method.as_bytes()).unwrap();
            find(&method, below, "a=b").map(|found| {
                found.map(|line| {
                    (line.endpoint.name(), line.item.unwrap().id.unwrap_or_default().into_string())
                })
            })
        };
        for (method, below, expected) in [
            ("GET", "responses/r", Some(Ok(("responses_get", "r")))),
            ("DELETE", "responses/r%2Fx", Some(Ok(("responses_delete", "r/x")))),
            ("POST", "responses/r/cancel", Some(Ok(("responses_cancel", "r")))),
            ("GET", "responses/r/input_items", Some(Ok(("responses_input_items", "r")))),
            ("PUT", "responses/r", Some(Err("GET, DELETE"))),
            ("GET", "responses", None),
            ("GET", "responsesx", None),
            ("GET", "responses/", None),
            ("GET", "responses/r/x", None),
            ("POST", "files", Some(Ok(("files_create", "")))),
            ("GET", "files", Some(Ok(("files_list", "")))),
            ("GET", "files/f/content", Some(Ok(("files_content", "f")))),
            ("DELETE", "batches/b", Some(Err("GET"))),
            ("POST", "batches/b/cancel", Some(Ok(("batches_cancel", "b")))),
            ("POST", "messages/batches", Some(Ok(("message_batches_create", "")))),
            ("GET", "messages/batches/b/results", Some(Ok(("message_batches_results", "b")))),
            ("DELETE", "messages/batches/b", Some(Ok(("message_batches_delete", "b")))),
            ("GET", "messages/x", None),
        ] {
            let expected = expected.map(|found| found.map(|(name, id): (_, &str)| (name, id.to_owned())));
            assert_eq!(found(method, below), expected, "{method} {below}");
        }
    }
}
