//! Files that take the place of the data, and overrides on top.
#![allow(clippy::unwrap_used)] // a panic here is a failed test

use std::{collections::BTreeMap, fmt::Write as _};
use trestle_catalog::{Catalog, Entry, Kind, Problems, Unit};

fn overrides(of: &[(&str, &str)]) -> BTreeMap<String, Entry> {
    of.iter().map(|(id, entry)| ((*id).to_owned(), serde_json::from_str(entry).unwrap())).collect()
}

fn catalog(file: Option<&str>, of: &[(&str, &str)]) -> Result<Catalog, Problems> {
    Catalog::with(file.map(Into::into), overrides(of))
}

#[test]
fn what_an_override_does_not_name_stays() {
    let stays = Catalog::embedded().find("gemini", "gemini-2.5-pro").unwrap();
    let entry = r#"{"output_max":5,"price":{"input":7,"services":{"batch":{"output":8}},"variants":{"x":{"input":9}}}}"#;
    let with = catalog(None, &[("gemini/gemini-2.5-pro", entry)]).unwrap();
    let model = with.find("gemini", "models/gemini-2.5-pro").unwrap();
    let mut expected = stays.clone();
    expected.output_max = Some(5);
    expected.price.rates.set(Unit::Input, 7);
    expected.price.services.get_mut("batch").unwrap().set(Unit::Output, 8);
    expected.price.variants.insert("x".into(), [(Unit::Input, 9)].into_iter().collect());
    // Other prices, another version.
    assert_ne!(model.price_version, stays.price_version);
    expected.price_version = expected.price.version();
    assert_eq!(model, expected);
    assert!(stays.price.steps().len() == 1 && stays.price.services["batch"].get(Unit::Input).is_some());
    // Steps go as a whole.
    let with = catalog(None, &[("gemini/gemini-2.5-pro", r#"{"price":{"above":[]}}"#)]).unwrap();
    assert!(with.find("gemini", "gemini-2.5-pro").unwrap().price.steps().is_empty());
    assert_eq!(with.find("openai", "gpt-4o"), Catalog::embedded().find("openai", "gpt-4o"));
}

#[test]
fn an_override_may_make_a_model() {
    let with = catalog(None, &[("local/llama", r#"{"price":{"input":1}}"#), ("openai/own", "{}")]).unwrap();
    let llama = with.find("local", "llama-latest").unwrap();
    assert_eq!((llama.kind, llama.price.rates.get(Unit::Input)), (Kind::Chat, Some(1)));
    assert_eq!(with.models("local").collect::<Vec<_>>(), [llama]);
    assert_eq!(with.providers_of("own"), ["openai"]);
    assert!(with.providers().contains("local") && with.names("openai").contains("own"));
    assert!(with.find("openai", "gpt-4o").is_some());
}

#[test]
fn a_file_takes_the_place_of_the_data() {
    let file = "{\"catalog\":1,\"models\":1,\"source\":\"mine\",\"licence\":\"none\"}\n{\"id\":\"a/b\",\"context_max\":3}\n";
    for file in [file, file.trim_end()] {
        let with = catalog(Some(file), &[("a/b", r#"{"output_max":4}"#)]).unwrap();
        let model = with.find("a", "b").unwrap();
        assert_eq!((model.context_max, model.output_max), (Some(3), Some(4)));
        assert_eq!(with.find("openai", "gpt-4o"), None);
        assert_eq!(with.source().as_deref(), Some("mine"));
        let other = with.overridden(overrides(&[("a/c", "{}")])).unwrap();
        assert_eq!(other.find("a", "b").unwrap().output_max, None);
        assert!(other.find("a", "c").is_some() && with.find("a", "c").is_none());
        assert!(with.overridden(overrides(&[("a", "{}")])).is_err());
    }
    let empty = catalog(Some("{\"catalog\":1}"), &[]).unwrap();
    assert!(empty.providers().is_empty() && empty.find("a", "b").is_none());
}

#[track_caller]
fn check(lines: &[&str], expected: &[&str]) {
    let problems = catalog(Some(&lines.join("\n")), &[]).unwrap_err().to_string();
    assert_eq!(problems.lines().collect::<Vec<_>>(), expected);
}

const HEAD: &str = r#"{"catalog":1}"#;

#[test]
fn a_wrong_line_is_told_with_its_number_and_member() {
    check(
        &[
            HEAD,
            r#"{"id":"a/a","price":{"inputs":1}}"#,
            r#"{"id":"a/b","price":{"above":[{"tokens":5,"input":1.5}]}}"#,
            r#"{"id":"a/c","price":{"services":{"flex":{"input":-1}}}}"#,
            r#"{"id":"a/d","context_max":0,"retires":"soon"}"#,
            r#"{"id":"a/e","kind":"chats"}"#,
        ],
        &[
            "line 2: price.inputs: there is no price `inputs` (column 29)",
            "line 3: price.above[0].input: invalid type: floating point `1.5`, expected u64 (column 53)",
            "line 4: price.services.flex.input: invalid value: integer `-1`, expected u64 (column 51)",
            "line 5: context_max: must not be 0",
            "line 5: retires: `soon` is no day such as `2027-01-31`",
            "line 6: kind: unknown variant `chats`, expected one of `chat`, `completion`, `embedding`, `evaluation`, \
             `image`, `moderation`, `music`, `ocr`, `realtime`, `rerank`, `search`, `speech`, `transcription`, `video` \
             (column 26)",
        ],
    );
}

#[test]
fn members_of_prices_stand_once_and_where_they_belong() {
    check(
        &[
            HEAD,
            r#"{"id":"a/a","price":{"input":1,"input":2}}"#,
            r#"{"id":"a/b","price":{"above":[{"input":1}]}}"#,
            r#"{"id":"a/c","price":{"tokens":1}}"#,
            r#"{"id":"a/d","price":{"above":[{"tokens":1,"above":[]}]}}"#,
            r#"{"id":"a/e","price":{"above":[{"tokens":9},{"tokens":9},{"tokens":0}]}}"#,
            r#"{"id":"a/f","color":1}"#,
            r#"{"id":"a/g"} {}"#,
            r#"{"id":"a/h""#,
        ],
        &[
            "line 2: price: duplicate field `input` (column 41)",
            "line 3: price.above[0]: missing field `tokens` (column 41)",
            "line 4: price: `tokens` belongs to a step of `above` (column 29)",
            "line 5: price.above[0]: a step has neither `above` nor `variants` (column 49)",
            "line 6: price.above[1].tokens: there is a step above 9 already",
            "line 6: price.above[2].tokens: must not be 0",
            "line 7: color: unknown field `color`, expected one of `id`, `kind`, `context_max`, `output_max`, \
             `dimensions`, `features`, `input`, `output`, `retires`, `price` (column 19)",
            "line 8: trailing characters (column 14)",
            "line 9: EOF while parsing an object (column 11)",
        ],
    );
}

#[test]
fn lines_are_sorted_and_each_model_is_there_once() {
    check(
        &[HEAD, r#"{"id":"a/b"}"#, r#"{"id":"a/a"}"#, r#"{"id":"a/a"}"#, "", r#"{ "id":"a/c"}"#],
        &[
            "line 3: id: `a/a` must stand above `a/b`: lines are sorted by bytes",
            "line 4: id: `a/a` is there twice",
            "line 5: must begin with {\"id\":\"",
            "line 6: must begin with {\"id\":\"",
        ],
    );
    let unclean = "must be `provider/model`, without escapes, spaces and quotes";
    let expected: Vec<_> = (2..=5).map(|line| format!("line {line}: id: {unclean}")).collect();
    check(
        &[HEAD, r#"{"id":"/x"}"#, r#"{"id":"a b/c"}"#, r#"{"id":"a/"}"#, r#"{"id":"a\u002fb"}"#],
        &expected.iter().map(String::as_str).collect::<Vec<_>>(),
    );
}

#[test]
fn a_file_begins_with_a_head() {
    check(&[""], &["line 1: must be a head such as {\"catalog\":1}: EOF while parsing a value (column 0)"]);
    check(&[r#"{"catalog":2}"#], &["line 1: catalog: is 2; this version reads 1"]);
    check(&[r#"{"catalog":1,"models":3}"#], &["line 1: models: says 3, but 0 follow; is the file whole?"]);
}

#[test]
fn a_file_that_is_wrong_from_end_to_end_is_told_in_part() {
    let mut file = HEAD.to_owned();
    for _ in 0..5000 {
        write!(file, "\nx").unwrap();
    }
    assert_eq!(catalog(Some(&file), &[]).unwrap_err().0.len(), 100);
}

#[test]
fn overrides_are_checked() {
    let of = [("gpt-4o", "{}"), ("openai/x", r#"{"output_max":0}"#), ("openai/y z", "{}")];
    let problems = catalog(None, &of).unwrap_err().to_string();
    let expected = [
        "gpt-4o: must be `provider/model`, without spaces and quotes",
        "openai/x: output_max: must not be 0",
        "openai/y z: must be `provider/model`, without spaces and quotes",
    ];
    assert_eq!(problems.lines().collect::<Vec<_>>(), expected);
}
