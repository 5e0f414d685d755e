//! What nodes of a cluster tell of it.

use crate::{
    catalogue,
    nodes::{CERTIFICATE_DAYS, Mesh},
    support::{self, KEY, eventually},
};

#[test]
fn nodes_tell_all_that_the_catalogue_has_of_a_cluster() {
    let mut mesh = Mesh::of(2).certified();
    mesh.start_all();
    for node in 0..2 {
        assert_eq!(mesh.chat(node, KEY).status, 200);
        mesh.write(node, &format!("team-of-{node}"));
        let wanted = catalogue::written(Some("Cluster"));
        let text = eventually("all metrics of the cluster", || {
            let text = support::get(mesh.http(node), "/metrics").body;
            catalogue::served(&text).is_superset(&wanted).then_some(text)
        });
        catalogue::has_all_of(&text);
        let value = |series: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' '));
            line.unwrap_or_else(|| panic!("no {series} in\n{text}")).parse::<f64>().unwrap()
        };
        assert!(value("trestle_raft_fsync_seconds_count") >= 1.0);
        assert!(value("trestle_gossip_round_seconds_count") >= 1.0);
        assert!(value("trestle_raft_applied_index") >= 1.0);
        let days = value("trestle_certificate_expires_seconds{certificate=\"mesh\"}") / 86_400.0;
        let made = f64::from(CERTIFICATE_DAYS);
        assert!(days > made - 1.0 && days <= made, "{days}");
    }
    for node in 0..2 {
        eventually(&format!("node {node} to be level"), || {
            let text = support::get(mesh.http(node), "/metrics").body;
            text.contains("\ntrestle_document_revision_lag 0\n").then_some(())
        });
    }
}
