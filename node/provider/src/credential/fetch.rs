//! One fetch of a credential.

use super::{Origins, Ready, Spec, aws, entra, google};
use std::time::{Duration, SystemTime};

/// Why there is no credential. The texts are for operators: they hold no secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum FetchError {
    /// There is none of this kind here.
    #[error("{0}")]
    Absent(String),
    /// Nobody answers.
    #[error("{0}")]
    Unreachable(String),
    /// There should be one.
    #[error("{0}")]
    Failed(String),
}

impl FetchError {
    pub(super) fn failed(why: impl Into<String>) -> Self {
        Self::Failed(why.into())
    }
}

/// Fetches a credential; blocks, but not longer than a few answers may take.
pub(super) fn fetch(spec: &Spec, now: SystemTime) -> Result<Ready, FetchError> {
    match &spec.origins {
        Origins::Aws(aws) => aws::fetch(aws, spec.proxy.as_ref(), now),
        Origins::Google(google) => google::fetch(google, spec.proxy.as_ref(), now),
        Origins::Entra(entra) => entra::fetch(entra, spec.proxy.as_ref(), now),
    }
}

/// The end of a token that was issued for so many seconds. One that says nothing, or nonsense, is taken for short.
pub(super) fn end_in(seconds: u64, now: SystemTime) -> SystemTime {
    const LONGEST: u64 = 7 * 86_400;
    let seconds = if seconds == 0 { 60 } else { seconds.min(LONGEST) };
    now + Duration::from_secs(seconds)
}
