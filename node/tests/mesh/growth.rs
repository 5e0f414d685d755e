//! Clusters of other sizes: one node that becomes three, and five.

use crate::{
    nodes::{LIMIT, LIMITED, Mesh},
    support::KEY,
    traffic::Traffic,
};

#[test]
fn a_node_that_was_alone_becomes_the_first_of_three() {
    let mut mesh = Mesh::of(3).certified();
    let mut alone = mesh.alone(0).start();
    let counted = 7;
    for _ in 0..counted {
        assert_eq!(mesh.chat(0, LIMITED).status, 200);
    }
    let team = "PUT /api/teams/of-one";
    crate::operator::Operator::of(&alone).done(team, "{}");
    alone.signal("TERM");
    assert!(alone.ended().success());
    drop(alone);
    mesh.start_all();
    for node in 0..3 {
        mesh.has(node, "of-one");
        assert_eq!(mesh.chat(node, KEY).status, 200);
    }
    mesh.all_count(counted);
    for number in counted..LIMIT {
        mesh.is_let_in(number as usize % 3);
        if number + 2 >= LIMIT {
            mesh.all_count(number + 1);
        }
    }
    for node in 0..3 {
        assert_eq!(mesh.chat(node, LIMITED).status, 429);
    }
    let traffic = Traffic::start(&mesh);
    traffic.goes_on();
    mesh.all_vote(&[]);
    // Two of three are enough, without the one that was first.
    mesh.kill(0);
    traffic.goes_on();
    mesh.start(0);
    traffic.goes_on();
    traffic.end();
    mesh.all_count(LIMIT);
}

#[test]
fn five_nodes_go_on_without_two() {
    let mut mesh = Mesh::of(5);
    mesh.start_all();
    mesh.all_vote(&[]);
    for node in 0..5 {
        mesh.write(node, &format!("by-{node}"));
    }
    let traffic = Traffic::start(&mesh);
    traffic.goes_on();
    let (leader, follower) = (mesh.leader(), mesh.follower());
    mesh.kill(follower);
    mesh.kill(leader);
    traffic.goes_on();
    mesh.start_all();
    mesh.is_level();
    traffic.goes_on();
    let written = traffic.end();
    mesh.is_level();
    let last = written.iter().last().unwrap();
    for node in 0..5 {
        mesh.has(node, last);
    }
}
