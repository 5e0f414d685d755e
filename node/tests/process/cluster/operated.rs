//! What operators and the hooks of a deployment do with the nodes of a cluster.

use crate::{
    cli_shell::Shell,
    cluster_nodes::Nodes,
    support::{document, eventually},
};
use serde_json::{Value, json};
use std::{
    sync::atomic::{AtomicBool, Ordering::SeqCst},
    thread,
};

fn members(shell: &Shell) -> Vec<Value> {
    shell.run(&["cluster", "members", "--json"]).json()["items"].as_array().unwrap().clone()
}

fn all_vote(shell: &Shell, count: usize) {
    eventually(&format!("{count} voters"), || {
        let members = members(shell);
        (members.len() == count && members.iter().all(|member| member["votes"] == true)).then_some(())
    });
}

fn scale_in<'a>(replicas: &'a str, wait: &'a str) -> [&'a str; 9] {
    ["cluster", "scale-in", "--stateful-set", "node", "--replicas", replicas, "--wait", wait, "--json"]
}

#[test]
fn five_nodes_of_a_stateful_set_become_three_while_changes_go_on() {
    let mut nodes = Nodes::start(5, &document(""));
    let shell = Shell::of(nodes.node(0));
    shell.run(&["cluster", "status", "--wait", "60"]).ok();
    all_vote(&shell, 5);

    let other = Shell::of(nodes.node(1));
    let (over, operator) = (AtomicBool::new(false), nodes.operator(0));
    let written = thread::scope(|scope| {
        let writing = scope.spawn(|| {
            let mut written = Vec::new();
            // One more after the last node has gone.
            let mut last = false;
            while !last {
                last = over.load(SeqCst);
                let team = format!("team-{}", written.len());
                eventually(&team, || {
                    let reply = operator.send(&format!("PUT /api/teams/{team}"), "", "{}");
                    assert!(matches!(reply.status, 200 | 201 | 503 | 504), "{reply:?}");
                    (reply.status < 300).then_some(())
                });
                written.push(team);
            }
            written
        });
        // The connection of the pool is to a node that stays; who goes knows least.
        let from_one_that_goes = Shell::of(nodes.node(4)).run(&scale_in("3", "1")).failed(1);
        assert!(from_one_that_goes.contains("node-4 answers, which is to go"), "{from_one_that_goes}");
        let removed = shell.run(&scale_in("3", "60")).json();
        over.store(true, SeqCst);
        assert_eq!(removed, json!({"removed": ["node-4", "node-3"]}));
        writing.join().unwrap()
    });
    assert_eq!(other.run(&scale_in("3", "60")).json(), json!({"removed": []}), "once more");
    all_vote(&shell, 3);
    for at in [4, 3] {
        nodes.kill(at);
    }
    nodes.operator(2).done("PUT /api/teams/after", "{}");
    for at in 0..3 {
        eventually("the last change", || {
            let teams = nodes.operator(at).document()["teams"].as_object().unwrap().clone();
            teams.contains_key("after").then(|| {
                assert!(written.iter().all(|team| teams.contains_key(team)), "node {at}: {teams:?}");
            })
        });
    }
    what_is_away_is_told(&mut nodes);
}

/// Of three one is killed, then two.
fn what_is_away_is_told(nodes: &mut Nodes) {
    let shell = Shell::of(nodes.node(0));
    let finalize = ["cluster", "finalize", "--wait", "1"];
    assert_eq!(shell.run(&["cluster", "finalize", "--wait", "60", "--json"]).json(), json!({"version": 1}));
    nodes.kill(1);
    eventually("the loss is told", || {
        let ran = shell.run(&["cluster", "status", "--wait", "1"]);
        (ran.code == 1 && ran.stderr.contains("after 1 s: node-1 is away")).then_some(())
    });
    assert!(shell.run(&finalize).failed(1).contains("node-1 is away"));
    // There is nothing that it could hinder.
    assert_eq!(shell.run(&["cluster", "finalize"]).ok(), "the cluster is of version 1\n");
    let refused = shell.run(&scale_in("2", "60")).failed(1);
    assert!(refused.contains("1 answer and 2 must"), "{refused}");
    nodes.kill(2);
    eventually("the loss of the leader is told", || {
        let ran = shell.run(&["cluster", "status", "--wait", "1"]);
        let lacks = ["no node leads", "node-1 is away", "node-2 is away"];
        (ran.code == 1 && lacks.iter().all(|lack| ran.stderr.contains(lack))).then_some(())
    });
    // Nobody can take a change, and that is known.
    let problem = nodes.operator(0).refused(503, "PUT /api/teams/nobody", "{}");
    assert_eq!(problem["type"], "/api/docs#no-leader", "{problem}");
    for at in [1, 2] {
        nodes.revive(at);
    }
    shell.run(&["cluster", "status", "--wait", "60"]).ok();
    nodes.operator(0).done("PUT /api/teams/somebody", "{}");
}

#[test]
fn the_version_of_the_cluster_is_shown() {
    let node = crate::support::Start::serve(&document("")).administered().start();
    let shell = Shell::of(&node);
    shell.run(&["cluster", "status", "--wait", "60"]).ok();
    assert!(shell.run(&["cluster", "status"]).ok().contains("\nVersion    1\n"));
    assert!(shell.run(&["cluster", "members"]).ok().contains("VERSION"));
    let shown = crate::operator::Operator::of(&node).done("GET /api/cluster", "");
    assert_eq!((&shown["version"], &shown["version_max"]), (&json!(1), &json!(1)));
    assert!(node.get("/metrics").body.contains("\ntrestle_cluster_version 1\n"));
    assert_eq!(shell.run(&["cluster", "finalize", "--wait", "60"]).ok(), "the cluster is of version 1\n");
    assert!(
        shell.run(&["cluster", "scale-in", "--stateful-set", "x", "--replicas", "0"]).failed(2).contains("0")
    );
    let made = shell.run(&["admin-token", "create", "seer", "--role", "viewer"]).ok();
    let seer = Shell::of(&node).set("TRESTLE_ADMIN_TOKEN", made.trim());
    seer.run(&["cluster", "status"]).ok();
    assert!(seer.run(&["cluster", "finalize"]).failed(1).contains("this needs the role admin"));
}
