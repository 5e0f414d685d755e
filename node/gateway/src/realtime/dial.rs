//! One attempt at a target of a session: connect, and switch to WebSocket.

use super::handshake;
use crate::{
    attempt::{self, Target, Walk, timed_out},
    call::Sending,
    cause::{Failed, Next},
    pick::Picked,
    prepare::{self, AGENT},
    state::Slot,
    take::Won,
    upstream::{self, Io, Outgoing, Switched},
};
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, header};
use std::pin::pin;
use tokio_tungstenite::tungstenite::handshake::client::generate_key;
use trestle_config::ProviderKind;

/// A connection to a provider that speaks WebSocket.
pub(crate) struct Link {
    pub(super) io: Io,
    /// What was read of it already.
    pub(super) first: Bytes,
    /// The protocol that the provider chose.
    pub(super) protocol: Option<HeaderValue>,
    /// The provider's own name of the model.
    pub(super) model: Box<str>,
    /// The call runs as long as the session.
    pub(super) slot: Slot,
}

impl Walk<'_> {
    /// Connects to a target, up to its consent.
    pub(crate) async fn dial(&mut self, target: &Target<'_>, picked: &Picked) -> Result<Won, Failed> {
        let provider = &target.config.provider;
        let ProviderKind::Remote(remote) = &provider.kind else {
            let message = format!("the provider {} has no network", provider.name);
            return Err(Failed::new("unsupported", Next::Onward, message));
        };
        let path = self.path(target, remote.as_ref())?;
        let slot = attempt::slot(self.timer, target.config, &target.local).await?;
        self.timer.stage(target.config.times.first_token);
        let key = generate_key();
        let mut headers = HeaderMap::with_capacity(12);
        prepare::forward(&self.ask.headers, &provider.forward_headers, &mut headers);
        handshake::ask(&key, &self.ask.headers, &mut headers);
        headers.insert(header::HOST, remote.host().clone());
        headers.insert(header::USER_AGENT, AGENT.clone());
        let nothing = Outgoing::new(std::iter::empty().collect()).keeping_all();
        self.begin_call(target, picked, 0)?;
        let sent = self.flight.call_goes();
        if let Some(noted) = &self.flight.record.noted {
            noted.write(&mut headers);
        }
        let request = prepare::complete((Method::GET, path, headers), &nothing, remote.as_ref(), picked)?;
        let (head, switched) = {
            let going = Sending::new(self.flight);
            let origin = (remote.origin(), &**provider);
            let switching = pin!(upstream::switch(&target.local.pool, origin, &request, &going.begun));
            self.timer.within(switching).await.map_err(timed_out)??
        };
        self.flight.call_heard(sent);
        let (io, first) = match switched {
            Switched::Yes(io, first) => (io, first),
            Switched::No(source) => {
                self.open(target, head, (source, slot)).await?;
                return Err(Failed::malformed("the provider answered, but did not switch to WebSocket"));
            }
        };
        self.flight.call_answered(head.status.as_u16());
        let answered = head.all.as_deref().filter(|answered| handshake::is_accepted(&key, answered));
        let Some(answered) = answered else {
            return Err(Failed::malformed("the provider does not speak WebSocket as it should"));
        };
        let protocol = answered.get(header::SEC_WEBSOCKET_PROTOCOL).cloned();
        let model = target.config.model.clone();
        Ok(Won::Session(Box::new(Link { io, first, protocol, model, slot })))
    }
}
