//! Any node answers for all: lines, sums and traces, with a node that is away named.

use crate::{
    cli_shell::Shell,
    cluster_nodes::Nodes,
    ledger::{ask, priced},
    support::eventually,
};
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
};
use trestle_bench::mock::{Mock, Options};

/// Its budget is soft: of a strict one a node that has come with a new disk has no share before the next month.
fn soft(mock: &Mock) -> String {
    priced(mock).replace("per: month,", "per: month, mode: soft,")
}

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
    let nodes = Nodes::start(3, &soft(&mock));
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

/// All that node 2 has settled, as any other node tells it.
fn check_all(nodes: &Nodes, at: usize, asked: &BTreeSet<String>) {
    for limit in [1, 4, 100] {
        let seen = all_pages(nodes, at, limit);
        assert_eq!(seen.len(), asked.len(), "node {at}, pages of {limit}: {seen:?}");
        assert_eq!(&seen.into_iter().map(|(id, _)| id).collect::<BTreeSet<_>>(), asked);
    }
    let usage = nodes.operator(at).done("GET /api/usage?by=key", "");
    assert_eq!((&items(&usage)[0]["calls"], usage.get("incomplete")), (&json!(asked.len()), None), "{usage}");
}

#[test]
fn a_node_that_is_away_is_told_by_copies_and_one_without_them_is_named() {
    let mock = Mock::start(Options::default()).unwrap();
    let mut nodes = Nodes::start(3, &soft(&mock));
    let asked: BTreeSet<_> = [0, 1, 2, 0, 1, 2, 2].map(|at| ask(nodes.node(at), "web")).into();
    eventually("copies of all", || [0, 1, 2].iter().all(|at| nodes.is_copied(*at)).then_some(()));
    // A copy is not asked for a node that answers.
    check_all(&nodes, 0, &asked);
    nodes.kill(2);
    check_all(&nodes, 0, &asked);
    check_all(&nodes, 1, &asked);
    let ledger = nodes.operator(0).done("GET /api/ledger", "");
    assert_eq!(items(&ledger)[0]["node"], "node-2", "{ledger}");
    let nowhere = nodes.operator(1).refused(404, &format!("GET /api/requests/{:032x}/trace", 7), "");
    assert_eq!(nowhere["incomplete"], json!(["node-2"]), "{nowhere}");

    let limits = nodes.operator(1).done("GET /api/limits", "");
    assert_eq!(limits["incomplete"], json!(["node-2"]), "{limits}");

    // The one that is left has a part of what they did.
    nodes.kill(1);
    let usage = nodes.operator(0).done("GET /api/usage", "");
    assert_eq!(usage["incomplete"], json!(["node-1", "node-2"]), "{usage}");
    let shell = Shell::of(nodes.node(0));
    for command in ["ledger", "usage", "limits"] {
        let ran = shell.run(&[command]);
        let of = |node| format!("not all of it: {node} does not answer\n");
        assert_eq!(ran.stderr, of("node-1") + &of("node-2"));
        ran.ok();
    }
    nodes.revive(1);
    nodes.revive(2);
    for at in 0..3 {
        check_all(&nodes, at, &asked);
    }
    assert_eq!(shell.run(&["ledger"]).stderr, "");
    for at in 0..3 {
        eventually("limits of all", || {
            nodes.operator(at).done("GET /api/limits", "").get("incomplete").is_none().then_some(())
        });
    }
}

#[test]
fn a_node_that_stops_leaves_all_that_it_wrote() {
    let mock = Mock::start(Options::default()).unwrap();
    let mut nodes = Nodes::start(3, &soft(&mock));
    let asked: BTreeSet<_> = [0, 1, 2, 2, 2].map(|at| ask(nodes.node(at), "web")).into();
    nodes.stop(2);
    check_all(&nodes, 0, &asked);
    check_all(&nodes, 1, &asked);
}

#[test]
fn a_node_that_lost_its_disk_is_told_by_copies_for_good() {
    let mock = Mock::start(Options::default()).unwrap();
    let mut nodes = Nodes::start(3, &soft(&mock));
    let mut asked: BTreeSet<_> = [0, 1, 2, 2].map(|at| ask(nodes.node(at), "web")).into();
    eventually("copies of all", || [0, 1, 2].iter().all(|at| nodes.is_copied(*at)).then_some(()));
    nodes.kill(2);
    fs::remove_dir_all(nodes.data(2)).unwrap();
    // Another node of the same name, which replaces it.
    nodes.revive(2);
    asked.insert(ask(nodes.node(2), "web"));
    for at in 0..3 {
        eventually("the one of before to be removed", || {
            let usage = nodes.operator(at).done("GET /api/usage", "");
            (usage.get("incomplete").is_none() && items(&usage)[0]["calls"] == asked.len()).then_some(())
        });
        check_all(&nodes, at, &asked);
    }
    nodes.measures(2, "trestle_ledger_copy_lag_bytes", |bytes| bytes == 0.0);
    let kept = [0, 1, 2].map(|at| nodes.metric(at, "trestle_ledger_copies_bytes").unwrap());
    assert!(kept.iter().sum::<f64>() > 0.0, "{kept:?}");
}
