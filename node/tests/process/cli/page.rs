//! The page of the command line is what the commands say of themselves.

use crate::cli_shell::Shell;
use std::{collections::BTreeSet, fs, path::Path};

/// The commands below one: all of them, each with its help.
fn commands(shell: &Shell, path: &[&str], found: &mut Vec<(String, String)>) {
    let mut arguments = path.to_vec();
    arguments.push("--help");
    let help = shell.run(&arguments).ok();
    let below: Vec<String> = help
        .split("\nCommands:\n")
        .nth(1)
        .into_iter()
        .flat_map(|rest| rest.lines().take_while(|line| line.starts_with("  ")))
        .filter_map(|line| line.strip_prefix("  ")?.split(' ').next().map(str::to_owned))
        .filter(|name| !name.is_empty() && name != "help")
        .collect();
    if !path.is_empty() {
        found.push((path.join(" "), help));
    }
    for name in &below {
        let mut path = path.to_vec();
        path.push(name);
        commands(shell, &path, found);
    }
}

/// The long options in a text that begin their line there, but those that all commands have.
fn options(help: &str) -> BTreeSet<String> {
    let lines = help.lines().filter_map(|line| {
        let line = line.trim_start();
        let long = line.strip_prefix("--").or_else(|| Some(line.split_once(", --")?.1))?;
        line.starts_with('-').then(|| long.split([' ', ',', '.']).next().unwrap_or_default().to_owned())
    });
    let common = ["help", "url", "token-file", "profile", "ca", "json", "version"];
    lines.filter(|name| !common.contains(&name.as_str())).collect()
}

#[test]
fn every_command_has_examples_and_its_place_on_the_page() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/cli.md");
    let page = fs::read_to_string(page).unwrap();
    let mut found = Vec::new();
    commands(&Shell::bare(), &[], &mut found);
    assert!(found.len() > 25, "{found:?}");
    for (path, help) in &found {
        assert!(help.contains("Examples:\n  "), "no examples: {path}");
        let is_group = found.iter().any(|(other, _)| other.starts_with(&format!("{path} ")));
        if is_group {
            continue;
        }
        let rows: Vec<_> =
            page.lines().filter(|line| line.starts_with(&format!("| `trestle {path}"))).collect();
        let exact = |line: &&&str| {
            let rest = &line[format!("| `trestle {path}").len()..];
            rest.starts_with('`') || rest.starts_with(' ')
        };
        let row = rows.iter().find(exact).unwrap_or_else(|| panic!("cli.md has no row for `{path}`"));
        for option in options(help) {
            // Those of `serve` are settings, which have a page of their own.
            let there = path == "serve" || row.contains(&format!("--{option}"));
            assert!(there, "cli.md: `{path}` lacks --{option}");
        }
    }
    // And no rows of what there is not.
    for line in page.lines().filter_map(|line| line.strip_prefix("| `trestle ")) {
        let words: Vec<_> = line.split(['`', ' ']).collect();
        let known = |length: usize| found.iter().any(|(path, _)| *path == words[..length].join(" "));
        assert!(known(2) || known(1), "cli.md has `trestle {line}`");
    }
}
