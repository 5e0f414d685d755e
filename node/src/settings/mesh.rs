//! The settings of a node that is one of several.

use super::{Layers, MEMBERS};
use std::{net::SocketAddr, path::PathBuf};

/// Ports that the protocol is known by.
const MESH_PORT: u16 = 10_102;
const GOSSIP_PORT: u16 = 10_101;
/// More nodes than that are no cluster.
const NODES_MAX: u64 = 32;

/// How a node is one of several.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mesh {
    /// The file of the secret that seals gossip; a second line is one that is still accepted.
    pub(crate) secret_file: PathBuf,
    /// Where others gossip, `host:port` each.
    pub(crate) seeds: Vec<String>,
    /// So many new nodes found a cluster together.
    pub(crate) expect: u32,
    /// A name that stays when the node is made anew.
    pub(crate) node_name: String,
    /// Where it runs.
    pub(crate) zone: String,
    /// What the nodes have in common.
    pub(crate) name: String,
    /// Where it serves peers.
    pub(crate) listen: SocketAddr,
    /// Where peers reach it, host and port.
    pub(crate) address: Option<String>,
    /// Where it gossips.
    pub(crate) gossip_listen: SocketAddr,
    /// Where peers reach it by gossip.
    pub(crate) gossip_address: Option<SocketAddr>,
    /// Certificates for peers.
    pub(crate) tls_dir: Option<PathBuf>,
}

/// Whether a member makes no sense without a secret.
fn is_of_mesh(member: &str) -> bool {
    member.starts_with("mesh.") || ["seeds", "bootstrap_expect", "node_name", "zone"].contains(&member)
}

impl Layers {
    /// None for a node that is alone.
    pub(super) fn mesh(&mut self) -> Option<Mesh> {
        let Some(secret_file) = self.path("cluster_secret_file") else {
            for member in MEMBERS.into_iter().filter(|member| is_of_mesh(member)) {
                if self.values.contains_key(member) && !self.values.contains_key("cluster_secret_file") {
                    let message = "is for a node that is one of several: set `cluster_secret_file` too";
                    self.refuse(member, message);
                }
            }
            return None;
        };
        let tls_dir = self.path("mesh.tls_dir");
        // Strangers could connect otherwise.
        let ip = if tls_dir.is_some() { [0, 0, 0, 0] } else { [127, 0, 0, 1] };
        let wanted = "must be an address with a port, such as 0.0.0.0:10102";
        Some(Mesh {
            secret_file,
            seeds: self.seeds(),
            expect: self.number("bootstrap_expect", 1, NODES_MAX).unwrap_or(1) as u32,
            node_name: self.text("node_name").unwrap_or_else(host_name),
            zone: self.text("zone").unwrap_or_default(),
            name: self.text("mesh.name").unwrap_or_else(|| "trestle.mesh".to_owned()),
            listen: self.parse("mesh.listen", wanted).unwrap_or_else(|| (ip, MESH_PORT).into()),
            address: self.host_and_port("mesh.address"),
            gossip_listen: self
                .parse("mesh.gossip_listen", wanted)
                .unwrap_or_else(|| (ip, GOSSIP_PORT).into()),
            gossip_address: self.parse("mesh.gossip_address", "must be an IP address with a port"),
            tls_dir,
        })
    }

    fn seeds(&mut self) -> Vec<String> {
        let Some(text) = self.text("seeds") else { return Vec::new() };
        let seeds: Vec<_> = text.split(',').map(str::trim).filter(|seed| !seed.is_empty()).collect();
        if let Some(wrong) = seeds.iter().find(|seed| !is_host_and_port(seed)) {
            let message =
                format!("has `{wrong}`, must be host:port, separated by commas, such as trestle-0:10101");
            self.refuse("seeds", &message);
        }
        seeds.into_iter().map(ToOwned::to_owned).collect()
    }

    fn host_and_port(&mut self, member: &'static str) -> Option<String> {
        let text = self.text(member)?;
        if !is_host_and_port(&text) {
            self.refuse(member, &format!("is `{text}`, must be host:port, such as trestle-0.trestle:10102"));
        }
        Some(text)
    }

    fn text(&mut self, member: &'static str) -> Option<String> {
        let (value, _) = self.values.get(member)?;
        let text = value.trim().to_owned();
        if text.is_empty() {
            self.refuse(member, "is empty");
            return None;
        }
        Some(text)
    }
}

fn is_host_and_port(text: &str) -> bool {
    text.rsplit_once(':').is_some_and(|(host, port)| !host.is_empty() && port.parse::<u16>().is_ok())
}

/// The name of this machine, which a pod has from its set.
pub(crate) fn host_name() -> String {
    let name = rustix::system::uname();
    name.nodename().to_string_lossy().into_owned()
}
