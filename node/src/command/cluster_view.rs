//! How a cluster stands, as a node tells it, and as it is shown.

use super::{
    client::Client,
    failure::{Done, Failure},
    print,
    remote::Remote,
    table::Table,
    wait::{Look, until},
};
use serde::Deserialize;
use serde_json::{Value, json};
use std::{process::ExitCode, time::Duration};

/// How a cluster stands.
#[derive(Debug, Default, Deserialize)]
pub(super) struct View {
    /// The node that answers.
    pub(super) node: String,
    pub(super) cluster: Option<String>,
    /// Nodes of the program before this one do not say it.
    #[serde(default)]
    pub(super) version: u32,
    #[serde(default)]
    pub(super) version_max: u32,
    pub(super) leader: Option<String>,
    #[serde(default)]
    pub(super) term: u64,
    #[serde(default)]
    pub(super) revision: u64,
    #[serde(default)]
    pub(super) committed: u64,
    #[serde(default)]
    pub(super) applied: u64,
    pub(super) members: Vec<Member>,
    #[serde(default)]
    pub(super) removed: Vec<String>,
}

/// One node.
#[derive(Debug, Clone, Default, Deserialize)]
pub(super) struct Member {
    pub(super) node: String,
    #[serde(default)]
    pub(super) name: String,
    #[serde(default)]
    pub(super) address: String,
    pub(super) votes: bool,
    pub(super) leads: bool,
    pub(super) lag: Option<u64>,
    pub(super) live: Option<bool>,
    pub(super) ready: Option<bool>,
    pub(super) leaving: Option<bool>,
    pub(super) revision: Option<u64>,
    pub(super) in_flight: Option<u64>,
    pub(super) zone: Option<String>,
    pub(super) version_max: Option<u32>,
}

impl Member {
    /// By what people know it.
    pub(super) fn shown(&self) -> &str {
        if self.name.is_empty() { &self.node } else { &self.name }
    }
}

impl View {
    /// Asks a node.
    pub(super) fn of(client: &Client) -> Result<Self, Failure> {
        client.get("/api/cluster")?.read()
    }

    fn named<'a>(&'a self, node: &'a str) -> &'a str {
        self.members.iter().find(|member| member.node == node).map_or(node, Member::shown)
    }

    /// The node that answers is there, whatever it has heard.
    fn is_live(&self, member: &Member) -> bool {
        member.node == self.node || member.live == Some(true)
    }

    /// What it lacks to take changes and to lose no more than it is made for: a leader, or voters.
    fn lacks(&self) -> Option<String> {
        let away = self.members.iter().filter(|member| member.votes && !self.is_live(member));
        let away: Vec<_> = away.map(|member| format!("{} is away", member.shown())).collect();
        let leaderless = self.leader.is_none().then(|| "no node leads".to_owned());
        let lacks: Vec<_> = leaderless.into_iter().chain(away).collect();
        (!lacks.is_empty()).then(|| lacks.join(", "))
    }

    /// Who cannot do a version of the cluster yet.
    pub(super) fn behind(&self, version: u32) -> Option<String> {
        let behind = self.members.iter().filter_map(|member| {
            let own = (member.node == self.node).then_some(self.version_max);
            match own.or(member.version_max) {
                _ if !self.is_live(member) => Some(format!("{} is away", member.shown())),
                Some(able) if able >= version => None,
                _ => Some(format!("{} has an earlier program", member.shown())),
            }
        });
        let behind: Vec<_> = behind.collect();
        (!behind.is_empty()).then(|| behind.join(", "))
    }
}

/// Shows how the cluster stands; where it is to be waited for, once it has a leader and all voters.
pub(super) fn status(remote: &Remote, wait: Option<u64>) -> Done {
    let client = Client::open(remote)?;
    if let Some(seconds) = wait {
        until(Duration::from_secs(seconds), || {
            Ok(View::of(&client.renewed())?.lacks().map_or(Look::Found(()), Look::Missing))
        })?;
    }
    let answer = client.get("/api/cluster")?;
    if remote.json {
        print::json(&answer.read::<Value>()?)?;
        return Ok(ExitCode::SUCCESS);
    }
    let view: View = answer.read()?;
    let voters = view.members.iter().filter(|member| member.votes).count();
    let live = view.members.iter().filter(|member| member.live == Some(true)).count();
    let leader = view.leader.as_deref().map_or("none: no changes are taken", |leader| view.named(leader));
    let mut text = format!(
        "Cluster    {}\nVersion    {}\nAnswered   {}\nLeader     {leader} (term {})\nMembers    {}, {voters} of them vote",
        view.cluster.as_deref().unwrap_or("-"),
        view.version,
        view.named(&view.node),
        view.term,
        view.members.len(),
    );
    if view.members.len() > 1 {
        text.push_str(&format!(", {live} heard of lately"));
    }
    text.push_str(&format!(
        "\nRevision   {}\nLog        {} on a majority, {} in effect here\n",
        view.revision, view.committed, view.applied
    ));
    if !view.removed.is_empty() {
        text.push_str(&format!("Removed    {}\n", view.removed.join(", ")));
    }
    print::out(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// Shows the nodes.
pub(super) fn members(remote: &Remote) -> Done {
    let answer = Client::open(remote)?.get("/api/cluster")?;
    if remote.json {
        let all: Value = answer.read()?;
        print::json(&json!({"items": all["members"]}))?;
        return Ok(ExitCode::SUCCESS);
    }
    let view: View = answer.read()?;
    let mut table = Table::new([
        "NAME",
        "NODE",
        "ADDRESS",
        "ROLE",
        "STATE",
        "REVISION",
        "LAG",
        "IN FLIGHT",
        "ZONE",
        "VERSION",
    ]);
    for member in view.members {
        let role = match (member.leads, member.votes) {
            (true, _) => "leads",
            (false, true) => "votes",
            (false, false) => "follows",
        };
        let state = match (member.live, member.leaving, member.ready) {
            (None, ..) => "-",
            (Some(false), ..) => "away",
            (_, Some(true), _) => "leaving",
            (_, _, Some(true)) => "ready",
            _ => "not ready",
        };
        let number = |number: Option<u64>| number.map_or_else(|| "-".to_owned(), |number| number.to_string());
        let text = |text: String| if text.is_empty() { "-".to_owned() } else { text };
        table.row([
            text(member.name),
            member.node,
            text(member.address),
            role.to_owned(),
            state.to_owned(),
            number(member.revision),
            number(member.lag),
            number(member.in_flight),
            text(member.zone.unwrap_or_default()),
            number(member.version_max.map(u64::from)),
        ]);
    }
    print::out(&table.to_string())?;
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first member answers; `-` stands for one that is away, `?` for one never heard of, `~` for one without a vote. The
    /// number is what it can.
    fn view(leader: bool, members: &str) -> View {
        let member = |(place, text): (usize, &str)| Member {
            node: place.to_string(),
            name: format!("n{place}"),
            votes: !text.contains('~'),
            live: (!text.contains('?')).then(|| !text.contains('-')),
            version_max: text.trim_start_matches(['-', '~', '?']).parse().ok(),
            ..Member::default()
        };
        View {
            node: "0".to_owned(),
            version_max: 2,
            leader: leader.then(|| "0".to_owned()),
            members: members.split(' ').enumerate().map(member).collect(),
            ..View::default()
        }
    }

    #[test]
    fn what_a_cluster_lacks_is_named() {
        for (leader, members, lacks) in [
            (true, "?2", None),
            (true, "2 2 2", None),
            (true, "2 2 ~-2", None),
            (false, "2 2 2", Some("no node leads")),
            (true, "2 -2 ?2", Some("n1 is away, n2 is away")),
            (false, "2 -2 2", Some("no node leads, n1 is away")),
        ] {
            assert_eq!(view(leader, members).lacks().as_deref(), lacks, "{members}");
        }
    }

    #[test]
    fn who_holds_a_version_up_is_named() {
        for (members, behind) in [
            ("?", None),
            ("2 2 3", None),
            ("2 1 2", Some("n1 has an earlier program")),
            ("2 - ~", Some("n1 is away, n2 has an earlier program")),
            ("2 ~-2", Some("n1 is away")),
        ] {
            assert_eq!(view(true, members).behind(2).as_deref(), behind, "{members}");
        }
    }
}
