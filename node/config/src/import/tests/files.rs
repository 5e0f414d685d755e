//! Whole files: what they become, that nothing of them is lost, and that nothing that is done to them ends in a panic.

use super::*;

fn snapshot(import: Import, text: &str) -> String {
    let imported = import(text).unwrap();
    format!("{:#}\n\n{}\n", written(&imported), notes(&imported).join("\n"))
}

#[test]
fn bifrost_file() {
    insta::assert_snapshot!(snapshot(bifrost, BIFROST));
}

#[test]
fn litellm_file() {
    insta::assert_snapshot!(snapshot(litellm, LITELLM));
}

#[test]
fn secrets_are_in_no_note() {
    for (import, text) in [(bifrost as Import, BIFROST), (litellm, LITELLM)] {
        let told = notes(&import(text).unwrap()).join("\n");
        for secret in ["clear-text", "very-secret", "sk-bf", "sk-1234"] {
            assert!(text.contains(secret) || !told.contains(secret));
            assert!(!told.contains(secret), "{secret}: {told}");
        }
    }
}

#[test]
fn the_page_names_what_is_in_the_files() {
    let page = include_str!("../../../../../docs/import.md");
    let (theirs, litellm) = page.split_once("\n## LiteLLM").unwrap();
    let (_, bifrost) = theirs.split_once("\n## Bifrost").unwrap();
    // What is not theirs.
    let made_up = ["$schema", "not_known_at_all", "something_else"];
    for (text, section) in [(BIFROST, bifrost), (LITELLM, litellm)] {
        let whole = parse::value(text, parse::Booleans::Loose).unwrap();
        for name in whole.as_object().unwrap().keys().filter(|name| !made_up.contains(&name.as_str())) {
            let named = ["`", ".", "["].iter().any(|next| section.contains(&format!("`{name}{next}")));
            assert!(named, "import.md does not name `{name}`");
        }
    }
}

/// Calls with every place of a value, each as the steps to it.
fn places(value: &Value, at: &mut Vec<Step>, visit: &mut impl FnMut(&[Step])) {
    if !at.is_empty() {
        visit(at);
    }
    match value {
        Value::Object(members) => {
            for (name, inner) in members {
                at.push(Step::Name(name.clone()));
                places(inner, at, visit);
                at.pop();
            }
        }
        Value::Array(items) => {
            for (index, inner) in items.iter().enumerate() {
                at.push(Step::Index(index));
                places(inner, at, visit);
                at.pop();
            }
        }
        _ => {}
    }
}

#[derive(Debug, Clone)]
enum Step {
    Name(String),
    Index(usize),
}

fn find<'v>(value: &'v mut Value, at: &[Step]) -> Option<&'v mut Value> {
    at.iter().try_fold(value, |value, step| match step {
        Step::Name(name) => value.get_mut(name.as_str()),
        Step::Index(index) => value.get_mut(*index),
    })
}

fn all_places(value: &Value) -> Vec<Vec<Step>> {
    let mut found = Vec::new();
    places(value, &mut Vec::new(), &mut |at| found.push(at.to_vec()));
    found
}

fn shown(at: &[Step]) -> String {
    let mut text = String::new();
    for step in at {
        match step {
            Step::Name(name) => text += &format!(".{name}"),
            Step::Index(index) => text += &format!("[{index}]"),
        }
    }
    text
}

/// Whether a note tells of a place or of one that holds it.
fn is_told(imported: &Imported, at: &[Step]) -> bool {
    let place = (1..=at.len()).map(|length| {
        at[..length].iter().fold(super::super::report::Place::default(), |place, step| match step {
            Step::Name(name) => place.member(name),
            Step::Index(index) => place.item(*index),
        })
    });
    let places: Vec<_> = place.map(|place| place.to_string()).collect();
    imported.notes.iter().any(|note| places.contains(&note.path))
}

/// What is neither noted nor makes a difference, because it says what holds anyway.
const SAME: [&str; 20] = [
    ".version",
    ".client.enforce_auth_on_inference",
    ".plugins[0].name",
    ".plugins[0].enabled",
    ".plugins[0].config.is_vk_mandatory",
    ".governance.virtual_keys[0].is_active",
    ".governance.virtual_keys[0].provider_configs[1].key_ids",
    ".governance.routing_rules[1].enabled",
    ".governance.routing_rules[1].cel_expression",
    ".router_settings.timeout",
    ".litellm_settings.request_timeout",
    ".litellm_settings.drop_params",
    "weight",
    // Blocked as well.
    ".provider_configs[0].allowed_models[0]",
    // All of them.
    ".keys[0].models",
    ".keys[2].models",
    // What is set where there is none.
    ".anthropic.keys[0].name",
    ".litellm_params.api_key",
    ".from_env",
    ".value.value",
];

#[test]
fn nothing_is_lost() {
    for (import, text) in [(bifrost as Import, BIFROST), (litellm, LITELLM)] {
        let whole = parse::value(text, parse::Booleans::Loose).unwrap();
        let full = import(&whole.to_string()).unwrap();
        let mut lost = Vec::new();
        for at in all_places(&whole) {
            if is_told(&full, &at) {
                continue;
            }
            let (last, above) = at.split_last().unwrap();
            let mut less = whole.clone();
            match (find(&mut less, above).unwrap(), last) {
                (Value::Object(members), Step::Name(name)) => drop(members.remove(name)),
                (Value::Array(items), Step::Index(index)) => drop(items.remove(*index)),
                _ => unreachable!(),
            }
            // What cannot be read without it counts as well.
            let same = import(&less.to_string()).is_ok_and(|less| less == full);
            if same && !SAME.iter().any(|known| shown(&at).contains(known)) {
                lost.push(shown(&at));
            }
        }
        assert!(lost.is_empty(), "lost without a word: {lost:#?}");
    }
}

/// A small generator of numbers; what it makes is the same in every run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, most: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % most
    }
}

#[test]
fn other_values_make_a_document_or_problems() {
    let odd = [
        json!(null),
        json!(true),
        json!(-1),
        json!(0),
        json!(1e300),
        json!(u64::MAX),
        json!(""),
        json!("*"),
        json!("a/b"),
        json!("mock"),
        json!("env.X"),
        json!("os.environ/X"),
        json!("\u{0}\n"),
        json!("é".repeat(200)),
        json!([]),
        json!([[]]),
        json!({}),
        json!({ "": {} }),
    ];
    for (import, text) in [(bifrost as Import, BIFROST), (litellm, LITELLM)] {
        let whole = parse::value(text, parse::Booleans::Loose).unwrap();
        let (places, mut dice) = (all_places(&whole), Dice(7));
        let mut made = 0;
        for _ in 0..150 {
            let mut other = whole.clone();
            for _ in 0..=dice.below(3) {
                let at = &places[dice.below(places.len())];
                // An earlier change may have taken the place away.
                if let Some(place) = find(&mut other, at) {
                    *place = odd[dice.below(odd.len())].clone();
                }
            }
            if let Ok(imported) = import(&other.to_string()) {
                written(&imported);
                made += 1;
            }
        }
        assert!(made > 30, "only {made} of the changed files could be read");
    }
}

#[test]
fn broken_text_makes_problems_and_no_panic() {
    for (import, text) in [(bifrost as Import, BIFROST), (litellm, LITELLM)] {
        let mut dice = Dice(11);
        for _ in 0..150 {
            let mut bytes = text.as_bytes().to_vec();
            let at = dice.below(bytes.len());
            match dice.below(3) {
                0 => bytes.truncate(at),
                1 => bytes[at] = b"{}[]:,\"'*&!\n\t #0"[dice.below(16)],
                _ => drop(bytes.drain(at..(at + 20).min(bytes.len()))),
            }
            if let Ok(imported) = import(&String::from_utf8_lossy(&bytes)) {
                written(&imported);
            }
        }
    }
}

#[test]
fn many_entries_take_no_longer_than_they_should() {
    let many = |count: usize, one: &dyn Fn(usize) -> Value| (0..count).map(one).collect::<Vec<_>>();
    let keys =
        many(3_000, &|n| json!({ "name": "same", "value": format!("sk-bf-{n}"), "provider_configs": [] }));
    let file = json!({ "governance": { "virtual_keys": keys } });
    assert_eq!(bifrost(&file.to_string()).unwrap().document.keys.len(), 3_000);
    let entries = many(
        1_000,
        &|n| json!({ "model_name": format!("m{n}"), "litellm_params": { "model": "openai/x", "api_key": format!("sk-{n}") } }),
    );
    let circle = many(1_000, &|n| json!({ format!("m{n}"): [format!("m{}", (n + 1) % 1_000)] }));
    let file = json!({ "model_list": entries, "router_settings": { "fallbacks": circle } });
    let imported = litellm(&file.to_string()).unwrap();
    assert_eq!(imported.document.providers.len(), 1_000);
    written(&imported);
}
