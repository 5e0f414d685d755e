//! Questions for the ledger. They read many files: few are answered at once, and none on a thread that serves.

use std::sync::Arc;
use tokio::{sync::Semaphore, task::spawn_blocking};
use trestle_store::Ledger;

/// Questions that are answered at once.
const QUESTIONS_MAX: usize = 4;

/// Who answers questions; clones are handles of the same one.
#[derive(Clone)]
pub(crate) struct Reader {
    ledger: Ledger,
    places: Arc<Semaphore>,
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
        Self { ledger, places: Arc::new(Semaphore::new(QUESTIONS_MAX)) }
    }

    /// The answer to a question. It is read to its end, and keeps its place until then, even if nobody waits any more.
    pub(crate) async fn ask<T: Send + 'static>(
        &self,
        question: impl FnOnce(&Ledger) -> T + Send + 'static,
    ) -> Result<T, Unanswered> {
        let place = Arc::clone(&self.places).try_acquire_owned().map_err(|_| Unanswered::Busy)?;
        let ledger = self.ledger.clone();
        let reading = spawn_blocking(move || {
            let _place = place;
            question(&ledger)
        });
        reading.await.map_err(|_| Unanswered::Failed)
    }
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
