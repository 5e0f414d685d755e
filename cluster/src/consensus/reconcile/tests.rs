//! What the leader decides, as a table.

use super::*;

const CLUSTER: ClusterId = ClusterId(7);

fn at(node: NodeId, name: &str) -> Node {
    Node { address: format!("node-{node}:1"), name: name.to_owned() }
}

/// Voters and learners as numbers, `=` and a name after each if it has one; who is seen likewise, with marks before: `-` not
/// live, `~` leaving, `!` of another cluster, `?` of none, `>` at another address,
/// `^` of the next version. Seen later is a later generation.
fn situation(voters: &str, learners: &str, seen: &str) -> Situation {
    let named = |text: &str| {
        let (node, name) = text.split_once('=').unwrap_or((text, ""));
        (node.parse::<NodeId>().unwrap(), name.to_owned())
    };
    let members = |text: &str| text.split_whitespace().map(named).collect::<Vec<_>>();
    let nodes: Vec<_> = members(voters).into_iter().chain(members(learners)).collect();
    let seen = seen.split_whitespace().enumerate().map(|(place, text)| {
        let (node, name) = named(text.trim_start_matches(['-', '~', '!', '?', '>', '^']));
        let marked = |mark| text.contains(mark);
        let address = if marked('>') { "elsewhere:1".to_owned() } else { at(node, "").address };
        let cluster = if marked('!') { Some(ClusterId(8)) } else { Some(CLUSTER) };
        let cluster = cluster.filter(|_| !marked('?'));
        let (live, leaving) = (!marked('-'), marked('~'));
        let version = if marked('^') { 2 } else { 1 };
        Seen { node, generation: place as u64, live, leaving, name, address, cluster, version }
    });
    Situation {
        leader: 1,
        cluster: Some(CLUSTER),
        voters: vec![members(voters).into_iter().map(|(node, _)| node).collect()],
        matched: nodes.iter().map(|(node, _)| (*node, 100)).collect(),
        nodes: nodes.into_iter().map(|(node, name)| (node, at(node, &name))).collect(),
        last_log: 120,
        version: 1,
        retired: BTreeSet::new(),
        seen: seen.collect(),
    }
}

fn promote(nodes: &[NodeId]) -> Option<Step> {
    Some(Step::Promote(nodes.iter().copied().collect()))
}

fn demote(nodes: &[NodeId]) -> Option<Step> {
    Some(Step::Demote(nodes.iter().copied().collect()))
}

fn learn(node: NodeId, name: &str) -> Option<Step> {
    Some(Step::Learn(node, at(node, name)))
}

#[test]
fn the_number_of_voters_is_odd() {
    let wanted: Vec<_> = (0..=9).map(voters_wanted).collect();
    assert_eq!(wanted, [1, 1, 1, 3, 3, 5, 5, 7, 7, 7]);
}

#[test]
fn one_change_at_a_time() {
    let replace = |old, new| Some(Step::Replace { old, new });
    for (voters, learners, seen, expected) in [
        // Nodes come, and get votes two at a time.
        ("1", "", "1", None),
        ("1", "", "1 ?2", learn(2, "")),
        ("1", "", "1 2=b", learn(2, "b")),
        ("1", "", "1 -2", None),
        ("1", "", "1 ~2", None),
        ("1", "", "1 !2", None),
        ("1", "2", "1 2", None),
        ("1", "2", "1 2 3", learn(3, "")),
        ("1", "2 3", "1 2 3", promote(&[2, 3])),
        ("1", "2 3", "1 2 -3", None),
        ("1", "2 3", "1 2 ~3", None),
        ("1 2 3", "4", "1 2 3 4", None),
        ("1 2 3", "4 5", "1 2 3 4 5", promote(&[4, 5])),
        ("1 2 3 4 5 6 7", "8 9", "1 2 3 4 5 6 7 8 9", None),
        ("1", "2 3 4 5 6", "1 2 3 4 5 6", promote(&[2, 3, 4, 5])),
        // Silence takes nothing from anybody.
        ("1 2 3", "", "1 -2 -3", None),
        ("1 2 3", "", "1", None),
        ("1 2 3", "4", "1 2 -3 4", None),
        // After a removal.
        ("1 2", "3", "1 2 3", promote(&[3])),
        ("1 2", "", "1 2", demote(&[2])),
        ("1 2 3 4", "", "1 2 -3 4", demote(&[3])),
        ("1 2 3 4", "", "1 2 3 4", demote(&[4])),
        // The same name with a new number.
        ("1=a 2=b 3=c", "", "1=a 2=b 9=c", learn(9, "c")),
        ("1=a 2=b 3=c", "9=c", "1=a 2=b 9=c", replace(3, 9)),
        ("1=a 2=b 3=c", "9=c", "1=a 2=b -3=c 9=c", replace(3, 9)),
        ("1=a 2=b 3=c", "9=c", "1=a 2=b 3=c 9=c", replace(3, 9)),
        ("1=a 2=b 3=c", "9=c", "1=a 2=b -9=c", None),
        ("1=a 2=b 3=c", "4=d 9=d", "1=a 2=b 3=c 9=d", replace(4, 9)),
        // An older one does not come back in the place of a later one, nor does a name take the leader's.
        ("1=a 2=b 9=c", "", "1=a 2=b 3=c 9=c", None),
        ("1=a 2=b 3=c", "9=a", "1=a 2=b 3=c 9=a", None),
        // Names of other clusters are theirs.
        ("1=a 2=b", "", "1=a 2=b 3=c !9=c", learn(3, "c")),
        ("1=a", "2=b 3=c", "1=a 2=b 3=c !9=c", promote(&[2, 3])),
        // Nor does one that strays in take nodes that are new.
        ("1", "", "1 ?2 !9", None),
        ("1", "", "1 ?2 -!9", learn(2, "")),
        ("1", "", "1 2 !9", learn(2, "")),
        ("1 2 3", "", "1 2 3 ?4 !8 !9", learn(4, "")),
        ("1 2 3", "", "1 2 -3 ?4 !8 !9", None),
        // Elsewhere.
        ("1 2 3", "", "1 >2 3", Some(Step::Move(2, Node { address: "elsewhere:1".into(), name: "".into() }))),
        ("1 2 3", "", "1 2=b 3", Some(Step::Move(2, at(2, "b")))),
        ("1 2 3", "", "1 ->2 3", None),
        ("1 2 3", "", "1 !>2 3", None),
    ] {
        assert_eq!(decide(&situation(voters, learners, seen)), expected, "{voters} / {learners} / {seen}");
    }
}

#[test]
fn who_lags_gets_no_vote_and_takes_no_place() {
    let mut lagging = situation("1", "2 3", "1 2 3");
    lagging.matched.insert(3, 100 - LAG_MAX);
    assert_eq!(decide(&lagging), None);
    lagging.matched.remove(&3);
    assert_eq!(decide(&lagging), None);
    let mut lagging = situation("1=a 2=b 3=c", "9=c", "1=a 2=b 9=c");
    lagging.matched.remove(&9);
    assert_eq!(decide(&lagging), None);
}

#[test]
fn half_a_change_is_finished_first() {
    let mut half = situation("1 2 3", "4", "1 2 3 4 5");
    half.voters.push(BTreeSet::from([1, 2, 4]));
    assert_eq!(decide(&half), Some(Step::Settle(BTreeSet::from([1, 2, 4]))));
}

#[test]
fn who_went_for_good_stays_away() {
    let mut gone = situation("1 2 3", "", "1 2 3 4");
    gone.retired = BTreeSet::from([1, 3, 4]);
    assert_eq!(decide(&gone), Some(Step::Remove(3)));
    gone.nodes.remove(&3);
    gone.voters = vec![BTreeSet::from([1, 2])];
    assert_eq!(decide(&gone), Some(Step::Remove(1)));
    gone.retired = BTreeSet::from([3, 4]);
    assert_eq!(decide(&gone), demote(&[2]));
}

#[test]
fn there_is_an_end_to_the_nodes() {
    let all: Vec<_> = (2..=NODES_MAX as u64).map(|node| node.to_string()).collect();
    let full = situation("1", &all.join(" "), "1 99");
    assert_eq!(full.nodes.len(), NODES_MAX);
    assert_eq!(decide(&full), None);
}
