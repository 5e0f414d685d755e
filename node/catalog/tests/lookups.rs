//! What clients call a model, and which one is found.
#![allow(clippy::unwrap_used)] // a panic here is a failed test

use std::collections::BTreeMap;
use trestle_catalog::Catalog;

#[track_caller]
fn check(provider: &str, asked: &str, found: &str) {
    let model = Catalog::embedded().find(provider, asked);
    assert_eq!(model.map(|model| model.name).unwrap_or_default(), found, "{provider}/{asked}");
}

#[test]
fn names_of_openai() {
    check("openai", "gpt-4o", "gpt-4o");
    check("openai", "gpt-4o-2024-08-06", "gpt-4o-2024-08-06");
    check("openai", "gpt-4o-2031-01-31", "gpt-4o");
    check("openai", "gpt-4o-latest", "gpt-4o");
    check("openai", "ft:gpt-4o-2024-08-06:org::id", "ft:gpt-4o-2024-08-06");
    check("openai", "ft:gpt-4o:org::id", "ft:gpt-4o-2024-11-20");
    check("openai", "ft:gpt-99:org::id", "");
    check("openai", "gpt-99", "");
    check("openai", "", "");
}

#[test]
fn names_of_other_vendors() {
    check("anthropic", "claude-sonnet-4-5-20250929", "claude-sonnet-4-5-20250929");
    check("anthropic", "claude-sonnet-4-5-latest", "claude-sonnet-4-5");
    check("gemini", "models/gemini-2.5-pro", "gemini-2.5-pro");
    check("vertex", "publishers/google/models/gemini-2.5-pro", "gemini-2.5-pro");
    check("azure", "my-deployment", "");
    check("nobody", "gpt-4o", "");
}

#[test]
fn names_of_bedrock() {
    let sonnet = "anthropic.claude-sonnet-4-5-20250929-v1:0";
    check("bedrock", sonnet, sonnet);
    check("bedrock", &format!("us.{sonnet}"), &format!("us.{sonnet}"));
    check("bedrock", &format!("ca.{sonnet}"), sonnet);
    check("bedrock", "anthropic.claude-sonnet-4-5", sonnet);
    let profile = format!("arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.{sonnet}");
    check("bedrock", &profile, &format!("us.{sonnet}"));
    check("bedrock", "arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/abc", "");
}

#[test]
fn a_region_may_have_its_own_price() {
    let catalog = Catalog::embedded();
    let name = |region, model| catalog.find_in("azure", region, model).map(|model| model.name);
    assert_eq!(name("eu", "gpt-4o-2024-08-06").as_deref(), Some("eu/gpt-4o-2024-08-06"));
    assert_eq!(name("mars", "gpt-4o-2024-08-06").as_deref(), Some("gpt-4o-2024-08-06"));
    assert_eq!(name("eu", "nothing"), None);
}

/// A small catalog: vendors whose names sort around the slash, and models with more dates than one.
fn small() -> Catalog {
    let ids = [
        "a-b/x",
        "a/gpt-20250101",
        "a/gpt-20240101",
        "a/gpt-mini-20260101",
        "a/gpt@20240601",
        "a/x",
        "a_b/x",
    ];
    let mut ids: Vec<_> = ids.iter().map(|id| format!("{{\"id\":\"{id}\"}}\n")).collect();
    ids.sort();
    Catalog::with(Some(format!("{{\"catalog\":1}}\n{}", ids.concat()).into()), BTreeMap::new()).unwrap()
}

#[test]
fn without_a_date_the_newest_is_found() {
    let find = |asked| small().find("a", asked).map(|model| model.name);
    assert_eq!(find("gpt").as_deref(), Some("gpt-20250101"));
    assert_eq!(find("gpt-latest").as_deref(), Some("gpt-20250101"));
    assert_eq!(find("gpt-20230101").as_deref(), Some("gpt-20250101"));
    assert_eq!(find("gpt-20240101").as_deref(), Some("gpt-20240101"));
    assert_eq!(find("gp"), None);
}

#[test]
fn bare_names_have_the_vendors_that_know_them() {
    assert_eq!(small().providers_of("x"), ["a", "a-b", "a_b"]);
    assert_eq!(small().providers_of("x-latest"), ["a", "a-b", "a_b"]);
    assert_eq!(small().providers_of("gpt-20240101"), ["a"]);
    assert_eq!(small().providers_of("gpt"), ["a"]);
    assert!(small().providers_of("y").is_empty() && small().providers_of("").is_empty());
    let embedded = Catalog::embedded();
    assert!(embedded.providers_of("gpt-4o").contains(&"openai"));
    assert!(embedded.providers_of("claude-sonnet-4-5").contains(&"anthropic"));
}

#[test]
fn vendors_and_their_models_come_in_order() {
    let catalog = small();
    assert_eq!(catalog.providers().into_iter().collect::<Vec<_>>(), ["a", "a-b", "a_b"]);
    let names: Vec<_> = catalog.models("a").map(|model| model.name).collect();
    assert_eq!(names, ["gpt-20240101", "gpt-20250101", "gpt-mini-20260101", "gpt@20240601", "x"]);
    assert_eq!(catalog.names("a-b").len(), 1);
    assert!(catalog.names("b").is_empty());
    assert!(catalog.models("").next().is_none());
}

#[test]
fn every_model_is_found_by_its_own_name() {
    let catalog = Catalog::embedded();
    for provider in catalog.providers() {
        for name in catalog.names(provider) {
            assert_eq!(
                catalog.find(provider, name).map(|model| model.name).as_deref(),
                Some(name),
                "{provider}"
            );
        }
    }
}
