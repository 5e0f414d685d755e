//! `trestle cluster scale-in`: takes out of the cluster the nodes whose pods a StatefulSet is about to end.

use super::{
    client::{Ask, Client},
    cluster_view::{Member, View},
    failure::{Failure, Refusal},
    remote::Remote,
    wait::{Look, until},
};
use http::{Method, StatusCode};
use std::time::Duration;

/// Which nodes stay.
#[derive(Debug, clap::Args)]
pub(super) struct ScaleIn {
    /// The StatefulSet: its nodes have the names NAME-0, NAME-1 and so on.
    #[arg(long, value_name = "NAME")]
    stateful_set: String,
    /// So many of its nodes stay, those with the lowest numbers.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    replicas: u32,
    /// How long each step is waited for.
    #[arg(long, value_name = "SECONDS", default_value_t = 120)]
    wait: u64,
}

impl ScaleIn {
    /// Removes the nodes one by one, the highest number first; who was removed.
    pub(super) fn run(self, remote: &Remote) -> Result<Vec<String>, Failure> {
        let client = Client::open(remote)?;
        let within = Duration::from_secs(self.wait);
        let mut removed: Vec<Member> = Vec::new();
        loop {
            let next = until(within, || Ok(self.look(&View::of(&client.renewed())?, &removed)))?;
            let Some(next) = next else { break };
            until(within, || remove(&client.renewed(), &next))?;
            eprintln!("{} is removed", next.name);
            removed.push(next);
        }
        Ok(removed.into_iter().map(|member| member.name).collect())
    }

    /// The next one to be removed, once the cluster has settled after the one before; `None` if all have gone.
    fn look(&self, view: &View, removed: &[Member]) -> Look<Option<Member>> {
        let mut leaving: Vec<_> = view.members.iter().filter_map(|at| Some((self.leaves(at)?, at))).collect();
        leaving.sort_by_key(|(number, _)| *number);
        if let Some((_, member)) = leaving.iter().find(|(_, member)| member.node == view.node) {
            // It is told nothing more once it is removed.
            let name = &member.name;
            return Look::Missing(format!("{name} answers, which is to go: ask a node that stays, by --url"));
        }
        if let Some((_, member)) =
            leaving.iter().find(|(_, member)| removed.iter().any(|it| it.node == member.node))
        {
            return Look::Missing(format!("{} is removed, and not gone yet", member.name));
        }
        let voters = view.members.iter().filter(|member| member.votes).count();
        if view.leader.is_none() {
            return Look::Missing("no node leads".to_owned());
        }
        if voters.is_multiple_of(2) {
            return Look::Missing(format!("{voters} nodes vote, and an odd number should: see who is away"));
        }
        Look::Found(leaving.last().map(|(_, member)| (*member).clone()))
    }

    /// The number of a node that does not stay.
    fn leaves(&self, member: &Member) -> Option<u32> {
        let text = member.name.strip_prefix(&self.stateful_set)?.strip_prefix('-')?;
        let number = text.parse::<u32>().ok().filter(|number| number.to_string() == text)?;
        (number >= self.replicas).then_some(number)
    }
}

/// Removes one, by its number: a pod that was made anew has the same name.
fn remove(client: &Client, member: &Member) -> Result<Look<()>, Failure> {
    let path = format!("/api/cluster/members/{}", member.node);
    match client.ask(Ask { method: Method::DELETE, path: &path, if_match: None, body: String::new() }) {
        // Gone already: an earlier try may have succeeded without an answer.
        Ok(_) | Err(Failure::Refused(Refusal { status: NOT_FOUND, .. })) => Ok(Look::Found(())),
        Err(error) => Err(error),
    }
}

const NOT_FOUND: u16 = StatusCode::NOT_FOUND.as_u16();

#[cfg(test)]
mod tests {
    use super::*;

    /// Members as `name` or `name~` without a vote; the one with a `!` answers.
    fn view(leader: bool, members: &str) -> View {
        let mut view = View { leader: leader.then(String::new), ..View::default() };
        for text in members.split_whitespace() {
            let name = text.trim_end_matches(['~', '!']).to_owned();
            if text.contains('!') {
                view.node.clone_from(&name);
            }
            let votes = !text.contains('~');
            view.members.push(Member { node: name.clone(), name, votes, ..Member::default() });
        }
        view
    }

    #[test]
    fn the_highest_goes_first_and_each_waits_for_the_votes() {
        let scale_in = ScaleIn { stateful_set: "x".to_owned(), replicas: 3, wait: 1 };
        let gone = |name: &str| Member { node: name.to_owned(), name: name.to_owned(), ..Member::default() };
        for (leader, members, removed, expected) in [
            (true, "x-0! x-1 x-2 x-3 x-10", &[][..], Ok(Some("x-10"))),
            (true, "x-0! x-1 x-2 x-3~", &[], Ok(Some("x-3"))),
            (true, "x-0! x-1 x-2", &[], Ok(None)),
            (true, "x-0! xy-4 y-4 x-04 x-x x-", &[], Err("6 nodes vote")),
            (true, "x-0! xy-4 y-4 x-04 x-x", &[], Ok(None)),
            (true, "x-0! x-1 x-2 x-3", &[], Err("4 nodes vote")),
            (false, "x-0! x-1 x-2", &[], Err("no node leads")),
            (true, "x-0 x-1 x-3! x-2 x-4", &[], Err("x-3 answers")),
            (true, "x-0! x-1 x-2 x-3~", &["x-3"], Err("x-3 is removed, and not gone yet")),
        ] {
            let removed: Vec<_> = removed.iter().map(|name| gone(name)).collect();
            match (scale_in.look(&view(leader, members), &removed), expected) {
                (Look::Found(found), Ok(expected)) => {
                    assert_eq!(found.map(|member| member.name).as_deref(), expected, "{members}");
                }
                (Look::Missing(why), Err(expected)) => assert!(why.contains(expected), "{members}: {why}"),
                (Look::Found(found), Err(_)) => panic!("{members}: {found:?}"),
                (Look::Missing(why), Ok(_)) => panic!("{members}: {why}"),
            }
        }
    }
}
