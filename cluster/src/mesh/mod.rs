//! How nodes call each other: connections, a server, and checks that both are who they should be.

// Who is who.
mod check;
mod identity;

// How bytes travel.
mod network;
mod tls;
mod tls_files;
mod tls_names;
mod validity;

// What others use.
mod authority;
mod channels;
mod server;

#[cfg(test)]
mod tests;

pub use authority::{InitTls, InitTlsError, init_tls};
pub(crate) use channels::was_sent;
pub use channels::{Channels, Peer};
pub use identity::{ClusterId, Identity, NodeId, NotAClusterId, NotThisCluster};
pub use network::{Listener, Network, Stream, Tcp};
pub use server::{Server, ServerError};
pub use tls::Tls;
pub use tls_files::TlsError;
pub use validity::certificate_end;
