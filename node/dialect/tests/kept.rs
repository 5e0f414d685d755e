//! What looks into bodies for ids and marks never panics, whatever the bytes, and gives back what it took.

use bytes::Bytes;
use proptest::prelude::*;
use trestle_dialect::{
    Envelope, Stored, batch_models, line_models, mark_sealed, name_batch_models, named, sealed_routes,
    stored::{with_files, with_ids},
    unmark_sealed,
};

/// Pieces that such bodies are made of, in any order.
fn text() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "{",
        "}",
        "[",
        "]",
        ":",
        ",",
        " ",
        "\n",
        "\\",
        "\"",
        "\"a\"",
        "\"id\":",
        "\"file_id\":",
        "\"file-1\"",
        "\"encrypted_content\":",
        "\"encrypted_content\" : ",
        "\"gAAA\"",
        "\"trestle:@r:\"",
        "\"trestle:@",
        "r:x\"",
        "\"requests\":[",
        "\"params\":{",
        "\"body\":{",
        "\"model\":",
        "\"m\"",
        "null",
        "1",
        "é",
    ]);
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

/// An object whose strings hold anything.
fn object() -> impl Strategy<Value = String> {
    let content =
        prop_oneof!["[a-z:@\"\\\\]{0,12}", Just("trestle:gemini:x".to_owned()), Just(String::new())];
    let member = (prop::sample::select(vec!["encrypted_content", "file_id", "text", "id"]), content);
    prop::collection::vec(member, 0..6).prop_map(|members| {
        let members =
            members.iter().map(|(name, content)| format!("\"{name}\": {}", serde_json::json!(content)));
        format!(
            "{{\"all\":[{}]}}",
            members.map(|member| format!("{{{member}}}")).collect::<Vec<_>>().join(", ")
        )
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn nothing_panics(text in text()) {
        let bytes = Bytes::from(text.clone());
        let _ = with_ids(&bytes, Stored::Batch, &mut |_, id| Some(format!("{id}!")));
        let _ = with_files(&bytes, &mut |id| Some(format!("{id}!")));
        let _ = (sealed_routes(&bytes), mark_sealed(&bytes, "r"), unmark_sealed(&bytes, "r"));
        if let Ok(lines) = line_models(&bytes) {
            let (_, models): (Vec<_>, Vec<_>) = lines.into_iter().unzip();
            let names = vec![Some("n"); models.len()];
            prop_assert_eq!(named(&bytes, &models, &names).is_some(), !models.is_empty());
        }
        if let Ok(envelope) = Envelope::parse(bytes)
            && let Ok(models) = batch_models(&envelope)
        {
            let names = vec![Some("n"); models.len()];
            let sent = name_batch_models(&envelope, &models, &names).apply(&envelope).concat();
            let again = Envelope::parse(sent.into()).unwrap();
            let found = batch_models(&again).unwrap();
            prop_assert!(found.len() == models.len() && found.iter().all(|model| model.is_str("n")));
        }
    }

    #[test]
    fn what_is_put_on_comes_off(text in object()) {
        let parsed = |bytes: &[u8]| serde_json::from_slice::<serde_json::Value>(bytes).unwrap();
        if let Some(marked) = mark_sealed(text.as_bytes(), "r") {
            parsed(&marked);
            prop_assert_eq!(sealed_routes(&marked), ["r"]);
            prop_assert_eq!(unmark_sealed(&marked, "r").unwrap(), text.as_bytes());
        }
        let mut seen = 0;
        if let Some(renamed) = with_files(text.as_bytes(), &mut |id| { seen += 1; Some(format!("<{id}>\"")) }) {
            let values = parsed(&renamed);
            let ids = values["all"].as_array().unwrap().iter().filter_map(|item| item["file_id"].as_str());
            prop_assert_eq!(ids.filter(|id| id.ends_with(">\"")).count(), seen);
        }
    }
}
