//! `trestle ledger`, `trestle usage` and `trestle limits`.

use crate::{
    cli_shell::Shell,
    ledger::{ask, node},
};
use trestle_bench::mock::{Mock, Options};

/// The words of each line of a table.
fn words(table: &str) -> Vec<Vec<&str>> {
    table
        .lines()
        .map(|line| line.split("  ").map(str::trim).filter(|word| !word.is_empty()).collect())
        .collect()
}

#[test]
fn calls_are_listed_and_summed_up() {
    let mock = Mock::start(Options::default()).unwrap();
    let (node, _) = node(&mock);
    let shell = Shell::of(&node);
    let (first, last) = (ask(&node, "web"), ask(&node, "lab"));
    let table = shell.run(&["ledger"]).ok();
    let rows = words(&table);
    assert_eq!(
        rows[0],
        ["ENDED (UTC)", "TEAM", "KEY", "MODEL", "PROVIDER", "OUTCOME", "IN", "OUT", "USD", "REQUEST"]
    );
    assert_eq!(rows[1][1..6], ["r&d", "lab", "chat", "openai", "ok"]);
    assert_eq!((rows[1][9], rows[2][9], rows.len()), (&*last, &*first, 3), "{table}");

    let ran = shell.run(&["ledger", "--limit", "1"]);
    assert_eq!(ran.stderr, "there are earlier ones: --limit N\n");
    assert_eq!(words(&ran.ok())[1][9], last);
    let json = shell.run(&["ledger", "--team", "r&d", "--json"]).json();
    assert_eq!((json["items"].as_array().unwrap().len(), &json["items"][0]["key"]), (1, &"lab".into()));
    let table = shell.run(&["ledger", "--request-id", &first, "--key", "web"]).ok();
    assert_eq!(words(&table).len(), 2, "{table}");

    let table = shell.run(&["usage", "--by", "team,model"]).ok();
    let rows = words(&table);
    assert_eq!(rows[0], ["TEAM", "MODEL", "CALLS", "IN", "OUT", "USD", "ESTIMATED"]);
    assert_eq!((&rows[1][..3], &rows[2][..3]), (&["growth", "chat", "1"][..], &["r&d", "chat", "1"][..]));
    assert!(rows[1][5].starts_with("0.0") && rows[1][5] != "0.00", "{table}");
    let all = shell.run(&["usage", "--from", "2020-01-01", "--json"]).json();
    assert_eq!((&all["items"][0]["calls"], &all["from"]), (&2.into(), &"2020-01-01T00:00:00.000Z".into()));
    let wrong = shell.run(&["usage", "--by", "colour"]).failed(1);
    assert!(wrong.contains("`by`: `colour` is none of customer, team,"), "{wrong}");
}

#[test]
fn limits_are_listed_with_what_is_left() {
    let mock = Mock::start(Options::default()).unwrap();
    let (node, _) = node(&mock);
    let shell = Shell::of(&node);
    ask(&node, "web");
    let table = shell.run(&["limits"]).ok();
    let rows = words(&table);
    let head =
        ["OWNER", "LIMIT", "MEASURE", "AMOUNT", "USED", "HELD", "LEFT", "PER", "RESETS (UTC)", "WARNED"];
    assert_eq!(rows[0], head);
    assert_eq!(rows[1][..4], ["customer/acme", "usd/month", "usd", "5.00"]);
    assert_eq!(rows[2][..8], ["team/growth", "requests/hour", "requests", "100", "1", "0", "99", "hour"]);
    assert_eq!(rows[3], ["key/web", "concurrent", "concurrent", "9", "0", "0", "9", "-", "-", "-"]);
    for (owner, count) in [("team/growth", 1), ("team", 1), ("team/r&d", 0), ("key/web", 1)] {
        let json = shell.run(&["limits", "--owner", owner, "--json"]).json();
        assert_eq!(json["items"].as_array().unwrap().len(), count, "{owner}");
    }
    shell.run(&["limits", "--owner", "human"]).failed(1);
}
