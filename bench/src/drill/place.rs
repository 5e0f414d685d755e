//! Where nodes are: each at an address of its own of loopback, or in a network namespace of its own, which can be cut off.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, bail, ensure};

/// Set in the process that runs in a namespace.
const INSIDE: &str = "TRESTLE_BENCH_NAMESPACE";
const HTTP_PORT: u16 = 18_080;
/// Where the upstream is, for nodes in namespaces.
const UPSTREAM: Ipv4Addr = Ipv4Addr::new(10, 79, 0, 1);
/// Frames for it are thrown away by whoever gets them, as a network does that has lost its way.
const NOBODY: &str = "02:00:00:00:ff:ff";

/// Where nodes are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// At 127.0.0.0/8, with these two in the middle.
    Loopback(u8, u8),
    /// In namespaces, with a link between each two, and one of each to us.
    Namespaces,
}

impl Place {
    /// On loopback, where no other process of ours is.
    pub(super) fn loopback() -> Self {
        let number = std::process::id();
        Self::Loopback(64 + (number >> 8) as u8 % 128, number as u8)
    }

    /// Namespaces if this process is in one that was made for it, and it is to make them for the nodes.
    pub(super) fn inside() -> Option<Self> {
        std::env::var_os(INSIDE).map(|_| Self::Namespaces)
    }

    /// Runs this program again in a namespace of its own with the same arguments, if that may be; whether it did well.
    pub(super) fn again_inside() -> anyhow::Result<Option<bool>> {
        let may = |program: &str, arguments: &[&str]| {
            let mut command = Command::new(program);
            command.args(arguments).stdout(Stdio::null()).stderr(Stdio::null());
            command.status().is_ok_and(|status| status.success())
        };
        let veth = "ip link set dev lo up && ip link add name one type veth peer name two";
        if !may("unshare", &["--net", "--mount", "sh", "-c", veth]) {
            return Ok(None);
        }
        let own = std::env::current_exe()?;
        let mut command = Command::new("unshare");
        command.args(["--net", "--mount", "--propagation", "private"]).arg(own);
        let status = command.args(std::env::args_os().skip(1)).env(INSIDE, "1").status()?;
        Ok(Some(status.success()))
    }

    /// Makes what nodes need of it.
    pub(super) fn make(self, nodes: usize) -> anyhow::Result<()> {
        if self != Self::Namespaces {
            return Ok(());
        }
        std::fs::create_dir_all("/run/netns").context("cannot make /run/netns")?;
        run("mount", &["-t", "tmpfs", "tmpfs", "/run/netns"])?;
        ip("link set dev lo up")?;
        ip(&format!("addr add {UPSTREAM}/32 dev lo"))?;
        for node in 0..nodes {
            ip(&format!("netns add n{node}"))?;
            ip(&format!("link add name h{node} type veth peer name c netns n{node}"))?;
            ip(&format!("addr add 10.78.{node}.254/24 dev h{node}"))?;
            ip(&format!("link set dev h{node} up"))?;
            for rest in [
                "link set dev lo up".to_owned(),
                format!("addr add {}/32 dev lo", mesh_ip(node)),
                format!("addr add 10.78.{node}.1/24 dev c"),
                "link set dev c up".to_owned(),
                format!("route add default via 10.78.{node}.254"),
            ] {
                ip(&format!("-n n{node} {rest}"))?;
            }
        }
        for (one, other) in pairs(nodes) {
            let (mac, other_mac) = (mac(one, other), mac(other, one));
            ip(&format!(
                "-n n{one} link add name e{other} address {mac} type veth peer name e{one} address {other_mac} netns n{other}"
            ))?;
            for (from, to) in [(one, other), (other, one)] {
                ip(&format!("-n n{from} link set dev e{to} up"))?;
                ip(&format!("-n n{from} route add {}/32 dev e{to} src {}", mesh_ip(to), mesh_ip(from)))?;
                neighbour(from, to, &self::mac(to, from))?;
            }
        }
        Ok(())
    }

    /// Where a node takes requests.
    pub(super) fn http(self, node: usize) -> SocketAddr {
        match self {
            Self::Loopback(..) => self.mesh(node, HTTP_PORT),
            Self::Namespaces => SocketAddr::from(([10, 78, node as u8, 1], HTTP_PORT)),
        }
    }

    /// Where a node takes calls of others.
    pub(super) fn mesh(self, node: usize, port: u16) -> SocketAddr {
        let ip = match self {
            Self::Loopback(one, two) => Ipv4Addr::new(127, one, two, node as u8 + 1),
            Self::Namespaces => mesh_ip(node),
        };
        SocketAddr::new(IpAddr::V4(ip), port)
    }

    /// Where the upstream is.
    pub(super) fn upstream(self) -> SocketAddr {
        match self {
            Self::Loopback(..) => SocketAddr::from(([127, 0, 0, 1], 0)),
            Self::Namespaces => SocketAddr::from((UPSTREAM, 0)),
        }
    }

    /// What runs a program where the node is.
    pub(super) fn command(self, node: usize, program: &Path) -> Command {
        match self {
            Self::Loopback(..) => Command::new(program),
            Self::Namespaces => {
                // Becomes the program, so its id is the program's.
                let mut command = Command::new("ip");
                command.args(["netns", "exec", &format!("n{node}")]).arg(program);
                command
            }
        }
    }

    /// Cuts a node off from the other ones, or joins it again; clients and the upstream reach it all the while.
    pub(super) fn link(self, node: usize, nodes: usize, link: Link) -> anyhow::Result<()> {
        ensure!(self == Self::Namespaces, "nodes on loopback cannot be cut off");
        for other in (0..nodes).filter(|other| *other != node) {
            for (from, to) in [(node, other), (other, node)] {
                let there = mac(to, from);
                neighbour(from, to, if link == Link::Cut { NOBODY } else { &there })?;
            }
        }
        Ok(())
    }
}

/// How a node is linked to the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Link {
    /// What is sent is lost without a word.
    Cut,
    /// As it should be.
    Whole,
}

fn mesh_ip(node: usize) -> Ipv4Addr {
    Ipv4Addr::new(10, 77, 0, node as u8 + 1)
}

fn pairs(nodes: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..nodes).flat_map(move |one| (one + 1..nodes).map(move |other| (one, other)))
}

/// Of the end at a node of its link to another one.
fn mac(at: usize, to: usize) -> String {
    format!("02:00:00:00:{at:02x}:{to:02x}")
}

fn neighbour(from: usize, to: usize, mac: &str) -> anyhow::Result<()> {
    ip(&format!("-n n{from} neigh replace {} lladdr {mac} dev e{to} nud permanent", mesh_ip(to)))
}

fn ip(arguments: &str) -> anyhow::Result<()> {
    run("ip", &arguments.split(' ').collect::<Vec<_>>())
}

fn run(program: &str, arguments: &[&str]) -> anyhow::Result<()> {
    let output = Command::new(program).args(arguments).output();
    let output = output.with_context(|| format!("cannot start {program}"))?;
    if !output.status.success() {
        bail!("{program} {}: {}", arguments.join(" "), String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(())
}
