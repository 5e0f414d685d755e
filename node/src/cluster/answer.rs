//! What a node answers about itself: to its own operators, and to peers that ask for theirs.

use super::wire::{self, MESSAGE_BYTES_MAX, SumsStream};
use crate::ledger::{Reader, Unanswered};
use std::sync::{Arc, OnceLock};
use trestle_gateway::Gateway;
use trestle_proto::{
    queries::{
        LinesAnswer, LinesQuestion, OfCopy, SumsQuestion, TraceAnswer, TraceQuestion,
        queries_server::{Queries, QueriesServer},
    },
    tonic::{Request, Response, Status, async_trait, service::Routes},
};
use trestle_store::{Copies, Sum, SumsError};

/// What a node knows of what it did. A clone knows the same.
#[derive(Clone)]
pub(crate) struct Answers {
    pub(super) reader: Reader,
    /// Of ledgers of other nodes; none where there is no mesh.
    pub(super) copies: Option<Copies>,
    /// None until it serves.
    gateway: Arc<OnceLock<Gateway>>,
}

impl Answers {
    pub(super) fn new(reader: Reader, copies: Option<Copies>) -> Self {
        Self { reader, copies, gateway: Arc::default() }
    }

    /// From here on it knows of requests, too.
    pub(crate) fn serves(&self, gateway: Gateway) {
        // Twice the same would be no harm.
        let _ = self.gateway.set(gateway);
    }

    /// Answers peers, beside other services.
    pub(super) fn routes(&self, routes: Routes) -> Routes {
        let server = QueriesServer::new(self.clone())
            .max_decoding_message_size(MESSAGE_BYTES_MAX)
            .max_encoding_message_size(MESSAGE_BYTES_MAX);
        routes.add_service(server)
    }

    /// Why a request went as it did; `None` where it is not among the last of this node.
    pub(super) fn trace(&self, id: u128) -> Option<Vec<u8>> {
        self.gateway.get()?.trace(id)
    }
}

impl Answers {
    /// A page of lines: of this node, or of copies that it has.
    pub(super) async fn page(&self, question: LinesQuestion) -> Result<LinesAnswer, Status> {
        let (query, after) = (wire::from_filter(question.filter)?, wire::from_place(&question.after)?);
        let lines_max = question.lines_max as usize;
        let page = match question.of_copy {
            None => self.reader.ask_in_turn(move |ledger| ledger.query(&query, after, lines_max)).await,
            Some(OfCopy { node, sequences }) => {
                let (copies, sequences) = (self.copies()?.clone(), sequences.into_iter().collect());
                let read = move |_: &_| copies.query((node, &sequences), &query, after, lines_max);
                self.reader.ask_in_turn(read).await
            }
        };
        Ok(wire::to_lines(page?.map_err(|error| unread(&error))?))
    }

    /// Sums of lines: of this node, or of copies that it has.
    pub(super) async fn summed(&self, question: SumsQuestion) -> Result<Vec<Sum>, Status> {
        let (query, by) = (wire::from_filter(question.filter)?, wire::from_words(&question.by)?);
        let sums = match question.of_copy {
            None => self.reader.ask_in_turn(move |ledger| ledger.sums(&query, &by)).await,
            Some(OfCopy { node, sequences }) => {
                let (copies, sequences) = (self.copies()?.clone(), sequences.into_iter().collect());
                self.reader.ask_in_turn(move |_| copies.sums((node, &sequences), &query, &by)).await
            }
        };
        sums?.map_err(|error| match error {
            SumsError::TooManyGroups => Status::out_of_range(error.to_string()),
            SumsError::Disk(error) => unread(&error),
        })
    }

    fn copies(&self) -> Result<&Copies, Status> {
        self.copies.as_ref().ok_or_else(|| Status::unimplemented("this node has no copies"))
    }
}

#[async_trait]
impl Queries for Answers {
    type SumsStream = SumsStream;

    async fn lines(&self, request: Request<LinesQuestion>) -> Result<Response<LinesAnswer>, Status> {
        self.page(request.into_inner()).await.map(Response::new)
    }

    async fn sums(&self, request: Request<SumsQuestion>) -> Result<Response<SumsStream>, Status> {
        let sums = self.summed(request.into_inner()).await?;
        Ok(Response::new(wire::to_parts(sums)))
    }

    async fn trace(&self, request: Request<TraceQuestion>) -> Result<Response<TraceAnswer>, Status> {
        if self.gateway.get().is_none() {
            return Err(Status::unavailable("this node does not serve yet"));
        }
        let id = wire::from_id(&request.into_inner().request_id)?;
        let trace = Answers::trace(self, id).unwrap_or_default();
        Ok(Response::new(TraceAnswer { trace: trace.into() }))
    }
}

impl From<Unanswered> for Status {
    fn from(unanswered: Unanswered) -> Self {
        match unanswered {
            Unanswered::Busy => Self::resource_exhausted(unanswered.to_string()),
            Unanswered::Failed => Self::internal(unanswered.to_string()),
        }
    }
}

fn unread(error: &std::io::Error) -> Status {
    tracing::error!(%error, "the ledger cannot be read for a peer");
    Status::internal("the ledger cannot be read: the log of the node says why")
}
