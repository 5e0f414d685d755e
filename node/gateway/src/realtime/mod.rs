//! Sessions over WebSocket: OpenAI's Realtime API.

mod handshake;
mod open;
pub(crate) use open::not_here;

mod dial;
pub(crate) use dial::Link;

mod sessions;
pub(crate) use sessions::Sessions;

mod session;
pub use session::Session;
