//! A keeper, and what requests see of it.

use http::{HeaderMap, Method};
use std::{
    sync::Arc,
    thread,
    time::{Duration, Instant, SystemTime},
};
use trestle_provider::{
    Signable,
    credential::{Fetched, Keeper, Live, NotReady, Origins, Ready, Spec, Wanted},
    listed, provider,
};

/// How long anything may take before a test gives up.
const PATIENCE: Duration = Duration::from_secs(30);

/// A credential that is kept.
pub(crate) struct Kept {
    pub(crate) keeper: Keeper,
    pub(crate) live: Arc<Live>,
}

/// One under an id that is always the same.
pub(crate) fn wanted(origins: Origins) -> Wanted {
    let spec = Arc::new(Spec { origins, proxy: None });
    Wanted { provider: "p".into(), name: "k".into(), id: [7; 32], spec }
}

impl Kept {
    pub(crate) fn new(origins: Origins) -> Self {
        let keeper = Keeper::default();
        let live = keeper.keep(vec![wanted(origins)]).remove(0);
        Self { keeper, live }
    }

    pub(crate) fn get(&self) -> Result<Arc<Ready>, NotReady> {
        self.live.get(SystemTime::now())
    }

    /// Waits until it is ready.
    pub(crate) fn ready(&self) -> Arc<Ready> {
        eventually("a credential", || self.get().ok())
    }

    /// Waits until a fetch has failed.
    pub(crate) fn failed(&self) {
        eventually("a failure", || (self.keeper.seen()[0].fetches.1 > 0).then_some(()));
    }

    /// Waits for a token, and shows it.
    pub(crate) fn token(&self) -> String {
        bearer(&self.ready())
    }

    /// Waits for a token of this text.
    pub(crate) fn becomes(&self, token: &str) {
        eventually(token, || self.get().ok().filter(|ready| bearer(ready) == token).map(|_| ()));
    }

    /// Waits for keys, and shows which: `ID` or `ID with SESSION_TOKEN`.
    pub(crate) fn key(&self) -> String {
        let ready = self.ready();
        assert!(!format!("{ready:?}").contains("SECRET"));
        key(&ready)
    }
}

pub(crate) fn bearer(ready: &Ready) -> String {
    match &ready.fetched {
        Fetched::Bearer(value) => {
            assert!(value.is_sensitive());
            value.to_str().unwrap().strip_prefix("Bearer ").unwrap().to_owned()
        }
        Fetched::Aws(_) => panic!("not a token"),
    }
}

/// What a signature says of the keys that made it.
pub(crate) fn key(ready: &Ready) -> String {
    let mut row = listed()["bedrock"].clone();
    row.variables.insert("region".to_owned(), "eu-west-1".to_owned());
    let bedrock = provider(row).unwrap();
    let mut headers = HeaderMap::new();
    headers.insert("host", bedrock.host().clone());
    let path = "/".parse().unwrap();
    let now = SystemTime::UNIX_EPOCH;
    let request = Signable { method: &Method::POST, path: &path, body: Some(&[]), now };
    bedrock.present(&ready.fetched, &request, &mut headers).unwrap();
    let id = headers["authorization"].to_str().unwrap().split(['=', '/']).nth(1).unwrap();
    match headers.get("x-amz-security-token") {
        Some(token) => format!("{id} with {}", token.to_str().unwrap()),
        None => id.to_owned(),
    }
}

/// Looks again and again until there is something to see.
pub(crate) fn eventually<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + PATIENCE;
    loop {
        if let Some(seen) = look() {
            return seen;
        }
        assert!(Instant::now() < end, "not seen in time: {what}");
        thread::sleep(Duration::from_millis(5));
    }
}
