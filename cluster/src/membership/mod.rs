//! Who is there: gossip that strangers can neither read nor write.

// One datagram.
mod datagrams;
mod open;
mod parts;
mod seal;
mod window;

// What the gossip library asks of us, and what became of it.
mod counts;
mod rounds;
mod transport;

// What nodes say, and who they are.
mod facts;
mod generation;
mod health;
mod members;
mod seeds;

// What others use.
mod handle;

#[cfg(test)]
mod tests;

pub use counts::GossipCounts;
pub use datagrams::{DatagramSocket, Datagrams, Udp};
pub use facts::Facts;
pub use handle::{Membership, MembershipError, MembershipSettings};
pub use health::HealthTooLarge;
pub use members::{Health, Member, Members};
pub use seal::{BadSecrets, Secrets};
