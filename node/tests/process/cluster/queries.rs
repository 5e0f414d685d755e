//! Any node answers for all: lines, sums and traces, with a node that is away named.

use crate::{
    cli_shell::Shell,
    cluster_nodes::Nodes,
    ledger::{ask, priced},
};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use trestle_bench::mock::{Mock, Options};

fn items(answer: &Value) -> &[Value] {
    answer["items"].as_array().unwrap()
}

/// Calls as a client sees them that goes from page to page of one node, with the node of each.
fn all_pages(nodes: &Nodes, at: usize, limit: usize) -> Vec<(String, String)> {
    let (mut seen, mut times, mut cursor) = (Vec::new(), Vec::new(), String::new());
    for _ in 0..100 {
        let page = nodes.operator(at).done(&format!("GET /api/ledger?limit={limit}{cursor}"), "");
        assert_eq!(page.get("incomplete"), None, "{page}");
        assert!(items(&page).len() <= limit);
        for line in items(&page) {
            let text = |name: &str| line[name].as_str().unwrap().to_owned();
            seen.push((text("request_id"), text("node")));
            times.push(text("ended_at"));
        }
        match page["next"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => break,
        }
    }
    assert!(times.is_sorted_by(|newer, older| newer >= older), "{times:?}");
    seen
}

#[test]
fn any_node_answers_for_all() {
    let mock = Mock::start(Options::default()).unwrap();
    let nodes = Nodes::start(3, &priced(&mock));
    let mut asked = BTreeMap::new();
    for round in 0..4 {
        for at in 0..3 {
            // One of them has more to tell than the others.
            for _ in 0..if at == 1 { 3 } else { 1 } {
                let key = if round % 2 == 0 { "web" } else { "lab" };
                asked.insert(ask(nodes.node(at), key), format!("node-{at}"));
            }
        }
    }
    for at in 0..3 {
        for limit in [1, 2, 7, 100] {
            let seen = all_pages(&nodes, at, limit);
            assert_eq!(seen.len(), asked.len(), "node {at}, pages of {limit}");
            assert_eq!(seen.into_iter().collect::<BTreeMap<_, _>>(), asked, "node {at}, pages of {limit}");
        }
        let usage = nodes.operator(at).done("GET /api/usage?by=team", "");
        let calls: Vec<_> = items(&usage).iter().map(|sum| (&sum["group"]["team"], &sum["calls"])).collect();
        assert_eq!(calls, [(&json!("growth"), &json!(10)), (&json!("r&d"), &json!(10))]);
        assert_eq!(usage.get("incomplete"), None, "{usage}");
        for (id, _) in asked.iter().take(6) {
            let trace = nodes.operator(at).done(&format!("GET /api/requests/{id}/trace"), "");
            assert_eq!(&trace["request_id"], id);
            let line = nodes.operator(at).done(&format!("GET /api/ledger?request_id={id}"), "");
            assert_eq!(items(&line).len(), 1, "{line}");
        }
    }
    let problem = nodes.operator(0).refused(400, "GET /api/ledger?cursor=1.2.3", "");
    assert!(problem["detail"].as_str().unwrap().contains("`cursor`: must be the `next`"), "{problem}");
    let nowhere = nodes.operator(2).refused(404, &format!("GET /api/requests/{:032x}/trace", 7), "");
    assert_eq!(nowhere.get("incomplete"), None, "{nowhere}");
}

#[test]
fn a_node_that_is_away_is_named_and_its_lines_come_when_it_is_back() {
    let mock = Mock::start(Options::default()).unwrap();
    let mut nodes = Nodes::start(3, &priced(&mock));
    let mut own = BTreeSet::new();
    for at in [0, 1, 2, 0, 1, 2] {
        own.extend(Some(ask(nodes.node(at), "web")).filter(|_| at < 2));
    }
    nodes.kill(2);
    let ledger = nodes.operator(0).done("GET /api/ledger", "");
    assert_eq!(ledger["incomplete"], json!(["node-2"]), "{ledger}");
    let seen: BTreeSet<_> =
        items(&ledger).iter().map(|line| line["request_id"].as_str().unwrap().to_owned()).collect();
    assert_eq!((seen, items(&ledger).len(), ledger.get("next")), (own, 4, None), "{ledger}");
    let usage = nodes.operator(1).done("GET /api/usage", "");
    assert_eq!((&usage["incomplete"], &items(&usage)[0]["calls"]), (&json!(["node-2"]), &json!(4)));
    let nowhere = nodes.operator(1).refused(404, &format!("GET /api/requests/{:032x}/trace", 7), "");
    assert_eq!(nowhere["incomplete"], json!(["node-2"]), "{nowhere}");
    let shell = Shell::of(nodes.node(1));
    for command in ["ledger", "usage"] {
        let ran = shell.run(&[command]);
        assert_eq!(ran.stderr, "not in it: what node-2 did, which does not answer\n");
        ran.ok();
    }
    nodes.revive(2);
    assert_eq!(all_pages(&nodes, 2, 4).len(), 6);
    assert_eq!(all_pages(&nodes, 0, 4).len(), 6);
    assert_eq!(shell.run(&["ledger"]).stderr, "");
}
