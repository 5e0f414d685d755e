//! What a node says of itself, as keys and values.

use crate::mesh::ClusterId;
use std::collections::BTreeMap;

/// Of each text. Longer ones are cut: gossip carries all of them, to all.
const TEXT_BYTES_MAX: usize = 255;

/// What a node says of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// A name that stays when the node is made anew, such as the one of a pod. Of several nodes with one name the one that
    /// began last replaces the others.
    pub name: String,
    /// Where peers call it, `host:port`.
    pub address: String,
    /// Where its admin API answers, `host:port`; may be empty.
    pub http: String,
    /// Where it runs.
    pub zone: String,
    /// What it was built from.
    pub build: String,
    /// The version of the formats of the cluster up to which it can.
    pub version: u32,
    /// The cluster it belongs to.
    pub cluster: Option<ClusterId>,
    /// Whether it takes requests.
    pub ready: bool,
    /// Whether it is about to stop.
    pub leaving: bool,
    /// Requests in flight.
    pub load: u64,
    /// The revision of the document that it has applied.
    pub revision: u64,
}

/// The last key that a node sets when it starts. Values arrive in the order in which they were set, so with it all are there.
const LAST: &str = "version";

/// Keys and values, in the order in which they are set first. Keys are the same for ever: there is nothing to delete.
pub(super) fn write(facts: &Facts) -> Vec<(String, String)> {
    let flag = |flag: bool| u8::from(flag).to_string();
    [
        ("name", cut(&facts.name)),
        ("address", cut(&facts.address)),
        ("http", cut(&facts.http)),
        ("zone", cut(&facts.zone)),
        ("build", cut(&facts.build)),
        ("cluster", facts.cluster.map(|cluster| cluster.to_string()).unwrap_or_default()),
        ("ready", flag(facts.ready)),
        ("leaving", flag(facts.leaving)),
        ("load", facts.load.to_string()),
        ("revision", facts.revision.to_string()),
        (LAST, facts.version.to_string()),
    ]
    .map(|(key, value)| (key.to_owned(), value))
    .into()
}

/// None until all is there. What a later version says otherwise is taken as not said.
pub(super) fn read(values: &BTreeMap<&str, &str>) -> Option<Facts> {
    let version = values.get(LAST)?.parse().ok()?;
    let text = |key| values.get(key).copied().unwrap_or_default().to_owned();
    let number = |key| values.get(key).and_then(|value| value.parse().ok()).unwrap_or_default();
    let flag = |key| values.get(key) == Some(&"1");
    Some(Facts {
        name: text("name"),
        address: text("address"),
        http: text("http"),
        zone: text("zone"),
        build: text("build"),
        version,
        cluster: values.get("cluster").and_then(|value| value.parse().ok()),
        ready: flag("ready"),
        leaving: flag("leaving"),
        load: number("load"),
        revision: number("revision"),
    })
}

fn cut(text: &str) -> String {
    text[..text.floor_char_boundary(TEXT_BYTES_MAX)].to_owned()
}
