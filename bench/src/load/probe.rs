//! One request, to see whether a target serves.

use super::connection::Connection;
use super::requests::Target;

/// Sends one request on a connection of its own.
///
/// # Errors
/// Says what was wrong with the connection or the answer.
pub fn probe(target: &Target) -> Result<(), String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(|error| error.to_string())?.block_on(Connection::new(target.clone(), 0).exchange())
}
