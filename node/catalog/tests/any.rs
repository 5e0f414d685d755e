//! Whatever is asked for and whatever a file holds: nothing panics, and bisection finds what a walk would.
#![allow(clippy::unwrap_used)] // a panic here is a failed test

use proptest::{collection::btree_set, prelude::*, sample::select};
use std::{collections::BTreeMap, sync::LazyLock};
use trestle_catalog::{Catalog, Entry};

const DATA: &str = include_str!("../models.jsonl");

static EMBEDDED: LazyLock<Catalog> = LazyLock::new(Catalog::embedded);

fn any_provider() -> impl Strategy<Value = String> {
    let known = EMBEDDED.providers().into_iter().map(str::to_owned).collect::<Vec<_>>();
    prop_oneof![select(known), ".{0,8}"]
}

/// What names are made of.
const PARTS: [&str; 26] = [
    "arn:",
    "aws",
    ":",
    "::",
    "-",
    "@",
    "/",
    "#",
    ".",
    "us.",
    "ft:",
    "gpt-4o",
    "claude",
    "models/",
    "-latest",
    "-v1:0",
    "-20250101",
    "-2024-08-06",
    "-0613",
    "2507",
    "foundation-model/",
    "publishers/",
    "é",
    "\"",
    "\n",
    "",
];

/// Names made of what names are made of, so that dates, ARNs and versions come together in all ways.
fn any_name() -> impl Strategy<Value = String> {
    prop::collection::vec(select(PARTS.as_slice()), 0..9).prop_map(|parts| parts.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_name_may_be_asked_for(provider in any_provider(), name in any_name()) {
        if let Some(model) = EMBEDDED.find(&provider, &name) {
            prop_assert_eq!(&model.provider, &provider);
            prop_assert!(EMBEDDED.names(&provider).contains(model.name.as_str()));
        }
        EMBEDDED.find_in(&provider, &name, &name);
    }

    #[test]
    fn any_text_may_be_a_file(text in "(\\{\"catalog\":1\\}\n)?(\\{\"id\":\"[ab]/[ab\"]?\"?[,}]?(\"[a-z]*\":[0-9]?\\})?\n?){0,4}.?") {
        if let Ok(catalog) = Catalog::with(Some(text.into()), BTreeMap::new()) {
            for provider in catalog.providers() {
                prop_assert!(catalog.models(provider).count() == catalog.names(provider).len());
            }
        }
    }

    #[test]
    fn a_file_that_is_cut_or_damaged_is_refused_or_read(at in 0..DATA.len(), len in 0..300_usize, put in ".{0,3}") {
        // The head and some lines, one of them damaged.
        let from = DATA[..at].rfind('\n').unwrap_or(0);
        let lines: String = DATA[from..].lines().take(4).map(|line| format!("{line}\n")).collect();
        let cut = lines.floor_char_boundary(len.min(lines.len()));
        let text = format!("{{\"catalog\":1}}{}{put}{}", &lines[..cut], lines.get(cut + 1..).unwrap_or_default());
        if let Err(problems) = Catalog::with(Some(text.into()), BTreeMap::new()) {
            prop_assert!(!problems.0.is_empty() && !problems.to_string().is_empty());
        }
    }

    #[test]
    fn bisection_finds_what_is_there(
        ids in btree_set("[ab][-.0]{0,1}/[ab][-.0/]{0,2}", 0..20), more in btree_set("[ab]{1,2}/[ab0]{1,2}", 0..3),
        asked in "[ab][-.0]{0,1}/[ab][-.0/]{0,2}"
    ) {
        let lines: String = ids.iter().map(|id| format!("{{\"id\":\"{id}\",\"context_max\":{}}}\n", id.len())).collect();
        let overrides: BTreeMap<_, _> = more.iter().map(|id| (id.clone(), Entry::default())).collect();
        let catalog = Catalog::with(Some(format!("{{\"catalog\":1}}\n{lines}").into()), overrides).unwrap();
        let all: std::collections::BTreeSet<_> = ids.union(&more).map(String::as_str).collect();
        let providers: std::collections::BTreeSet<_> = all.iter().filter_map(|id| id.split('/').next()).collect();
        prop_assert_eq!(&catalog.providers(), &providers);
        let names = |provider| catalog.names(provider).into_iter().map(move |name| format!("{provider}/{name}"));
        let listed: Vec<_> = providers.into_iter().flat_map(names).collect();
        prop_assert_eq!(listed.len(), all.len());
        prop_assert!(listed.iter().all(|id| all.contains(id.as_str())));
        let (provider, name) = asked.split_once('/').unwrap();
        let found = catalog.find(provider, name).filter(|model| model.name == name);
        prop_assert_eq!(found.is_some(), all.contains(asked.as_str()));
        if ids.contains(&asked) {
            prop_assert_eq!(found.and_then(|model| model.context_max), Some(asked.len() as u64));
        }
    }
}
