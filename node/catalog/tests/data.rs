//! The data that ships with the binary: its form, and prices that are known by hand.
#![allow(clippy::unwrap_used)] // a panic here is a failed test

use std::{collections::BTreeMap, env, path::Path, process::Command};
use trestle_catalog::{Catalog, Counts, Feature, Kind, Modality, Model, Terms, Unit};

const DATA: &str = include_str!("../models.jsonl");

/// In bytes. All of it is in the binary.
const DATA_MAX: usize = 1_000_000;

fn all() -> impl Iterator<Item = Model> {
    let catalog = Catalog::embedded();
    let providers: Vec<_> = catalog.providers().into_iter().map(str::to_owned).collect();
    providers.into_iter().flat_map(move |provider| catalog.models(&provider).collect::<Vec<_>>())
}

#[test]
fn every_line_is_right() {
    // Checks each line: its form, the order, that no model is there twice, and the number of them.
    if let Err(problems) = Catalog::with(Some(DATA.into()), BTreeMap::new()) {
        panic!("{problems}");
    }
    assert_eq!(all().count(), DATA.lines().count() - 1);
    assert!(all().count() >= 1000);
    assert!(DATA.len() < DATA_MAX, "{} bytes", DATA.len());
}

#[test]
fn names_are_clean() {
    for model in all() {
        let plain = |text: &str, also: &str| {
            text.chars().all(|c| c.is_ascii_alphanumeric() || also.contains(c)) && !text.contains("//")
        };
        let Model { provider, name, .. } = &model;
        assert!(plain(provider, "_-") && plain(name, "-._:@/"), "{provider}/{name}");
        assert!(!name.contains("-x-"), "a size of an image in {provider}/{name}");
    }
}

#[test]
fn prices_make_sense() {
    let mut priced = 0;
    for model in all() {
        let (price, at) = (&model.price, format!("{}/{}", model.provider, model.name));
        priced += usize::from(!price.is_empty());
        for step in [0, 150_000, 250_000, 600_000] {
            let rate = |unit| price.charged(unit, &Terms::default(), step).map(|(_, rate)| rate);
            assert!(rate(Unit::Cached) <= rate(Unit::Input) || rate(Unit::Input).is_none(), "{at} {step}");
            assert!(rate(Unit::CacheWrite1h) >= rate(Unit::CacheWrite), "{at} {step}");
            // A thousand USD a million tokens: nobody asks more.
            assert!(rate(Unit::Output).is_none_or(|rate| rate <= 1_000_000_000), "{at} {step}");
        }
        for (service, rates) in &price.services {
            for (unit, rate) in rates.iter() {
                let standard = price.rates.get(unit).unwrap_or_else(|| panic!("{at} {service} {unit:?}"));
                let cheap = ["batch", "flex", "balanced"].contains(&service.as_str());
                assert!(if cheap { rate <= standard } else { rate >= standard }, "{at} {service} {unit:?}");
            }
        }
        let mut before = price.rates.clone();
        for step in price.steps() {
            for (unit, rate) in step.rates.iter() {
                assert!(before.set(unit, rate) <= Some(rate), "{at} above {} {unit:?}", step.tokens);
            }
        }
    }
    assert!(priced > 4000, "{priced}");
}

#[track_caller]
fn check(provider: &str, name: &str, used: &[(Unit, u64)], nano: u64) {
    let model = Catalog::embedded().find(provider, name).unwrap();
    let counts = used.iter().fold(Counts::default(), |counts, (unit, count)| counts.with(*unit, *count));
    assert_eq!(model.price.cost(&counts), nano, "{provider}/{name} {used:?}");
}

/// As the vendors' own pages had them.
#[test]
fn well_known_prices_are_right() {
    const USD: u64 = 1_000_000_000;
    const MILLION: u64 = 1_000_000;
    check("openai", "gpt-4o", &[(Unit::Input, MILLION)], 2 * USD + USD / 2);
    check("openai", "gpt-4o", &[(Unit::Output, MILLION)], 10 * USD);
    check("openai", "gpt-4o", &[(Unit::Cached, MILLION)], USD + USD / 4);
    check("openai", "gpt-4o", &[(Unit::Input, 1), (Unit::Output, 1)], 12_500);

    let sonnet = |unit, nano| check("anthropic", "claude-sonnet-4-5", &[(unit, 100_000)], nano);
    sonnet(Unit::Input, 3 * USD / 10);
    sonnet(Unit::Output, 15 * USD / 10);
    sonnet(Unit::Reasoning, 15 * USD / 10);
    sonnet(Unit::Cached, 3 * USD / 100);
    sonnet(Unit::CacheWrite, 375 * USD / 1000);
    sonnet(Unit::CacheWrite1h, 6 * USD / 10);

    check("gemini", "gemini-2.5-pro", &[(Unit::Input, 200_000)], USD / 4);
    check("gemini", "gemini-2.5-pro", &[(Unit::Input, 200_001)], 500_002_500);
    check("gemini", "gemini-2.5-pro", &[(Unit::Input, 200_000), (Unit::Output, 100_000)], USD / 4 + USD);
    check(
        "gemini",
        "gemini-2.5-pro",
        &[(Unit::Input, 400_000), (Unit::Output, 100_000)],
        USD + 15 * USD / 10,
    );

    check("openai", "text-embedding-3-small", &[(Unit::Input, MILLION)], USD / 50);
    check("cohere", "rerank-v3.5", &[(Unit::PerQuery, 1000)], 2 * USD);
    check("openai", "whisper-1", &[(Unit::PerAudioSecondInput, 60)], 6 * USD / 1000);
    check("openai", "tts-1", &[(Unit::PerCharacter, MILLION)], 15 * USD);
    check("openai", "gpt-image-1", &[(Unit::Input, MILLION)], 5 * USD);
    check("openai", "gpt-image-1", &[(Unit::ImageInput, MILLION)], 10 * USD);
    check("openai", "gpt-image-1", &[(Unit::ImageOutput, MILLION), (Unit::PerImage, 9)], 40 * USD);
    check("azure", "dall-e-3", &[(Unit::PerImage, 100)], 44 * USD / 10);
}

#[test]
fn other_terms_have_other_prices() {
    let catalog = Catalog::embedded();
    let million = Counts::default().with(Unit::Input, 100_000).with(Unit::Output, 100_000);
    let batch = Terms { service: Some("batch"), variant: None };
    let sonnet = catalog.find("anthropic", "claude-sonnet-4-5").unwrap();
    assert_eq!(sonnet.price.cost_on(&batch, &million), 900_000_000);
    let images = Counts::default().with(Unit::PerImage, 100);
    let hd = Terms { service: None, variant: Some("hd/1024x1792") };
    let dalle = catalog.find("azure", "dall-e-3").unwrap();
    assert_eq!(dalle.price.cost_on(&hd, &images), 13_200_000_000);
}

#[test]
fn models_say_what_they_are() {
    let catalog = Catalog::embedded();
    let gpt = catalog.find("openai", "gpt-4o").unwrap();
    assert_eq!((gpt.kind, gpt.context_max, gpt.output_max), (Kind::Chat, Some(128_000), Some(16_384)));
    let can = [Feature::Tools, Feature::Images, Feature::JsonSchema, Feature::PromptCaching];
    assert!(can.iter().all(|feature| gpt.features.contains(feature)), "{:?}", gpt.features);
    assert!(gpt.input.contains(&Modality::Image) && !gpt.input.contains(&Modality::Video));
    let small = catalog.find("openai", "text-embedding-3-small").unwrap();
    assert_eq!((small.kind, small.dimensions), (Kind::Embedding, Some(1536)));
    assert_eq!(small.output.into_iter().collect::<Vec<_>>(), [Modality::Vector]);
    let whisper = catalog.find("openai", "whisper-1").unwrap();
    assert_eq!(whisper.input.into_iter().collect::<Vec<_>>(), [Modality::Audio]);
    assert!(catalog.source().unwrap().starts_with("litellm "));
}

/// The script gives the file that is committed. Runs where `TRESTLE_LITELLM_WHEEL` names the wheel that the script pins.
#[test]
fn the_script_gives_the_committed_file() {
    let Some(wheel) = env::var_os("TRESTLE_LITELLM_WHEEL") else { return };
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("regenerate.py");
    let output =
        Command::new("python3").arg(script).args(["--check", "--wheel"]).arg(wheel).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
