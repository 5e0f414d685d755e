//! What of the messages must stay for ever: nodes of two versions talk to each other, and disks outlive both. Each field with its
//! number and type stands in `golden.txt`. A line there is never changed and never removed: a field that is used no more
//! keeps its number. New fields are added by `GOLDEN=write cargo test -p trestle-proto`.

#![allow(clippy::expect_used, clippy::panic)] // a panic is a failed test

use std::{collections::BTreeSet, env, fs, path::Path};

/// One line a field: message, field, number, label and type, and the methods of services.
fn described() -> BTreeSet<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut lines = BTreeSet::new();
    let mut files = 0;
    for entry in fs::read_dir(folder.join("trestle/cluster/v1")).expect("the folder") {
        files += 1;
        let set = protox::compile([entry.expect("a file").path()], [folder]).expect("a valid file");
        for file in &set.file {
            let package = file.package();
            for message in &file.message_type {
                assert!(message.nested_type.is_empty() && message.enum_type.is_empty(), "list these, too");
                for field in &message.field {
                    let kind = match field.type_name() {
                        "" => format!("{:?}", field.r#type()),
                        name => name.trim_start_matches('.').to_owned(),
                    };
                    let (label, presence) =
                        (field.label(), if field.proto3_optional() { " with presence" } else { "" });
                    lines.insert(format!(
                        "{package}.{} {} {} {label:?} {kind}{presence}",
                        message.name(),
                        field.number(),
                        field.name()
                    ));
                }
            }
            for service in &file.service {
                for method in &service.method {
                    let stream = |is: bool| if is { "stream " } else { "" };
                    lines.insert(format!(
                        "{package}.{}/{} {}{} -> {}{}",
                        service.name(),
                        method.name(),
                        stream(method.client_streaming()),
                        method.input_type().trim_start_matches('.'),
                        stream(method.server_streaming()),
                        method.output_type().trim_start_matches('.'),
                    ));
                }
            }
        }
    }
    assert!(files >= 4 && lines.len() > 50, "{files} files, {} lines", lines.len());
    lines
}

#[test]
fn what_was_once_said_is_said_for_ever() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden.txt");
    let kept = fs::read_to_string(&path).unwrap_or_default();
    let kept: BTreeSet<String> = kept.lines().map(ToOwned::to_owned).collect();
    let now = described();
    let gone: Vec<_> = kept.difference(&now).collect();
    assert!(gone.is_empty(), "nodes of the version before, or disks, have these still: {gone:#?}");
    if env::var_os("GOLDEN").is_some() {
        let text: String = now.iter().map(|line| format!("{line}\n")).collect();
        fs::write(&path, text).expect("written");
        return;
    }
    let new: Vec<_> = now.difference(&kept).collect();
    assert!(new.is_empty(), "add these with GOLDEN=write: {new:#?}");
}
