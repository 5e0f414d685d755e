//! `trestle import`: what it makes is a document that is valid.

use crate::cli_shell::Shell;
use std::{fs, os::unix::fs::PermissionsExt, path::Path};

fn fixture(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("config/fixtures/import").join(name);
    path.to_str().unwrap().to_owned()
}

#[test]
fn what_is_imported_is_valid() {
    for (from, file) in [("bifrost", "bifrost.json"), ("litellm", "litellm.yaml")] {
        let shell = Shell::bare();
        let ran = shell.run(&["import", from, &fixture(file)]);
        assert!(
            ran.stderr.lines().all(|line| line.starts_with("note: ") || line.starts_with("  ")),
            "{ran:?}"
        );
        assert!(ran.stderr.contains("is in clear") && !ran.stderr.contains("clear-text"), "{ran:?}");
        let document = ran.ok();
        assert!(document.contains("sk-proj-clear-text"), "secrets in clear stay");
        shell.file("gateway.yaml", &document);
        assert!(shell.run(&["check", "gateway.yaml"]).ok().contains("is valid"));
        assert_eq!(shell.run(&["import", from, &fixture(file), "-o", "out.yaml"]).ok(), "");
        let out = shell.folder().join("out.yaml");
        assert_eq!(fs::read_to_string(&out).unwrap(), document);
        assert_eq!(fs::metadata(&out).unwrap().permissions().mode() & 0o777, 0o600);
    }
}

#[test]
fn notes_that_say_the_same_stand_together() {
    let stderr = Shell::bare().run(&["import", "bifrost", &fixture("bifrost.json")]).stderr;
    let group = "note: is an account of a vendor that is not there yet, ";
    let at = stderr.lines().position(|line| line.starts_with(group)).unwrap();
    let places: Vec<_> = stderr.lines().skip(at + 1).take(2).collect();
    assert_eq!(places, ["  providers.azure", "  providers.bedrock"]);
}

#[test]
fn what_is_no_such_file_is_refused_with_its_places() {
    let shell = Shell::bare();
    shell.file("wrong.json", r#"{"providers": {"openai": {"keys": 5}}}"#);
    let stderr = shell.run(&["import", "bifrost", "wrong.json"]).failed(1);
    assert!(stderr.contains("\nproviders.openai.keys"), "{stderr}");
    shell.file("broken.yaml", "model_list: [");
    let ran = shell.run(&["import", "litellm", "broken.yaml"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (1, ""), "{ran:?}");
    assert!(shell.run(&["import", "litellm", "none.yaml"]).failed(1).contains("cannot read none.yaml"));
}
