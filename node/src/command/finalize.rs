//! `trestle cluster finalize`: after all nodes have a new program.

use super::{
    client::Client,
    cluster_view::View,
    failure::Failure,
    remote::Remote,
    wait::{Look, until},
};
use http::StatusCode;
use serde::Deserialize;
use serde_json::json;
use std::time::Duration;
use trestle_cluster::Consensus;

#[derive(Deserialize)]
struct Finalized {
    version: u32,
}

/// Raises the version of the cluster; the version that it has then. Where it is to be waited for, once all nodes can what this
/// program can.
pub(super) fn finalize(remote: &Remote, wait: Option<u64>) -> Result<u32, Failure> {
    let client = Client::open(remote)?;
    let Some(seconds) = wait else { return raise(&client) };
    until(Duration::from_secs(seconds), || {
        let client = client.renewed();
        if let Some(behind) = View::of(&client)?.behind(Consensus::VERSION) {
            return Ok(Look::Missing(behind));
        }
        match raise(&client) {
            Ok(version) => Ok(Look::Found(version)),
            // A node may have gone away meanwhile.
            Err(Failure::Refused(refusal)) if refusal.status == StatusCode::CONFLICT => {
                Ok(Look::Missing(refusal.to_string()))
            }
            Err(error) => Err(error),
        }
    })
}

fn raise(client: &Client) -> Result<u32, Failure> {
    Ok(client.post("/api/cluster/finalize", &json!({}))?.read::<Finalized>()?.version)
}
