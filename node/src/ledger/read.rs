//! Questions for the ledger. They read many files: few are answered at once, and none on a thread that serves.

use std::{sync::Arc, time::Duration};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    task::spawn_blocking,
    time::timeout,
};
use trestle_store::Ledger;

/// Questions that are answered at once.
const QUESTIONS_MAX: usize = 4;
/// Questions of peers that wait for their turn: each peer was asked itself, so that its own callers are refused before.
const WAITING_MAX: usize = 64;
/// They wait so long: the peer waits for little more.
const WAIT: Duration = Duration::from_secs(2);

/// Who answers questions; clones are handles of the same one.
#[derive(Clone)]
pub(crate) struct Reader {
    ledger: Ledger,
    places: Arc<Semaphore>,
    waiting: Arc<Semaphore>,
}

/// Why a question has no answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unanswered {
    /// Others ask.
    #[error("the ledger is read for {QUESTIONS_MAX} others already: try again shortly")]
    Busy,
    /// A panic.
    #[error("the ledger could not be read: the log of the node says why")]
    Failed,
}

impl Reader {
    pub(crate) fn new(ledger: Ledger) -> Self {
        let [places, waiting] = [QUESTIONS_MAX, WAITING_MAX].map(|places| Arc::new(Semaphore::new(places)));
        Self { ledger, places, waiting }
    }

    /// The answer to a question. It is read to its end, and keeps its place until then, even if nobody waits any more.
    pub(crate) async fn ask<T: Send + 'static>(
        &self,
        question: impl FnOnce(&Ledger) -> T + Send + 'static,
    ) -> Result<T, Unanswered> {
        let place = Arc::clone(&self.places).try_acquire_owned().map_err(|_| Unanswered::Busy)?;
        self.read(place, question).await
    }

    /// The same for a peer, which waits for its turn.
    pub(crate) async fn ask_in_turn<T: Send + 'static>(
        &self,
        question: impl FnOnce(&Ledger) -> T + Send + 'static,
    ) -> Result<T, Unanswered> {
        let _waiting = self.waiting.try_acquire().map_err(|_| Unanswered::Busy)?;
        let place = timeout(WAIT, Arc::clone(&self.places).acquire_owned()).await;
        let place = place.ok().and_then(Result::ok).ok_or(Unanswered::Busy)?;
        self.read(place, question).await
    }

    async fn read<T: Send + 'static>(
        &self,
        place: OwnedSemaphorePermit,
        question: impl FnOnce(&Ledger) -> T + Send + 'static,
    ) -> Result<T, Unanswered> {
        let ledger = self.ledger.clone();
        let reading = spawn_blocking(move || {
            let _place = place;
            question(&ledger)
        });
        reading.await.map_err(|_| Unanswered::Failed)
    }
}

/// What copies of other ledgers may come to: what the ledger of this node leaves of its largest size.
pub(crate) fn room_for_copies(ledger: &Ledger) -> u64 {
    let room = ledger.room();
    room.bytes_max.saturating_sub(room.bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;
    use trestle_store::Options;

    #[tokio::test]
    async fn one_question_too_many_is_refused_and_a_panic_frees_its_place() {
        let folder = tempfile::tempdir().unwrap();
        let (ledger, _) = Ledger::open(&folder.path().join("ledger"), Options::default()).unwrap();
        let reader = Reader::new(ledger);
        let mut held = Vec::new();
        for _ in 0..QUESTIONS_MAX {
            let (release, released) = mpsc::channel::<()>();
            let (begun, begins) = tokio::sync::oneshot::channel();
            let reader = reader.clone();
            let asked = tokio::spawn(async move {
                reader
                    .ask(move |_| {
                        begun.send(()).unwrap();
                        released.recv().is_err()
                    })
                    .await
            });
            begins.await.unwrap();
            held.push((asked, release));
        }
        assert!(matches!(reader.ask(|_| ()).await, Err(Unanswered::Busy)));
        for (asked, release) in held {
            drop(release);
            assert!(asked.await.unwrap().unwrap());
        }
        for _ in 0..=QUESTIONS_MAX {
            assert!(matches!(reader.ask(|_| panic!("on purpose")).await, Err::<(), _>(Unanswered::Failed)));
        }
        assert!(reader.ask(|ledger| ledger.room().bytes_max > 0).await.unwrap());
    }
}
