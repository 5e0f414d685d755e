//! `trestle document edit`, with editors that are scripts.

use crate::cli_shell::{Ran, Shell};
use crate::{
    operator::Operator,
    support::{Node, Start, document},
};
use std::{fs, path::PathBuf};

/// Keeps what it is given as `seen-N`, and leaves what `answer-N` makes of it (a script of sed), if there is one.
const EDITOR: &str = "n=$(cat count 2>/dev/null || echo 0)\n\
    echo $((n + 1)) > count\n\
    cp \"$1\" seen-$n\n\
    ls -ld \"$(dirname \"$1\")\" > folder\n\
    if [ -e answer-$n ]; then sed -f answer-$n seen-$n > \"$1\"; fi\n\
    if [ -e meanwhile ]; then sh meanwhile; fi\n";

fn node() -> (Node, Operator, Shell) {
    let text = format!("{}models:\n  m: {{ targets: [{{ model: mock/echo }}] }}\n", document(""));
    let node = Start::serve(&text).administered().start();
    let shell = Shell::of(&node).set("EDITOR", "sh editor.sh");
    shell.file("editor.sh", EDITOR);
    let operator = Operator::of(&node);
    (node, operator, shell)
}

fn edit(shell: &Shell) -> Ran {
    shell.run(&["document", "edit"])
}

fn seen(shell: &Shell, number: usize) -> String {
    fs::read_to_string(shell.folder().join(format!("seen-{number}"))).unwrap()
}

/// The files that were kept for the user.
fn kept(shell: &Shell) -> Vec<PathBuf> {
    let entries = fs::read_dir(shell.folder()).unwrap().map(|entry| entry.unwrap().path());
    let folders = entries.filter(|path| path.file_name().unwrap().to_str().unwrap().starts_with("trestle-"));
    folders.map(|folder| folder.join("document.yaml")).collect()
}

#[test]
fn what_is_not_valid_is_opened_again_until_it_is() {
    let (_node, operator, shell) = node();
    shell.file("answer-0", "s/targets/tragets/\n");
    shell.file("answer-1", "s/tragets/targets/\ns/echo/lorem/\n");
    assert_eq!(edit(&shell).ok(), "revision 2:\n  changed  models/m\n");
    assert!(seen(&shell, 0).contains("targets:") && !seen(&shell, 0).contains("#!"));
    let second = seen(&shell, 1);
    assert!(second.starts_with("#! The document would not be valid; mend it"), "{second}");
    assert!(
        second.contains("#! models.m.tragets: unknown member") && second.contains("tragets:"),
        "{second}"
    );
    assert_eq!(operator.document()["models"]["m"]["targets"][0]["model"], "mock/lorem");
    let folder = fs::read_to_string(shell.folder().join("folder")).unwrap();
    assert!(folder.starts_with("drwx------"), "{folder}");
    assert_eq!(kept(&shell), Vec::<PathBuf>::new());
}

#[test]
fn what_is_as_it_was_or_empty_applies_nothing() {
    let (_node, operator, shell) = node();
    assert_eq!(edit(&shell).ok(), "nothing was changed\n");
    shell.file("answer-1", "d\n");
    assert!(edit(&shell).failed(1).contains("the file is empty: nothing was applied"));
    assert_eq!(kept(&shell), Vec::<PathBuf>::new());
    // Wrong, then given up.
    shell.file("answer-2", "s/targets/tragets/\n");
    let stderr = edit(&shell).failed(1);
    assert!(stderr.contains("still not valid"), "{stderr}");
    let kept = kept(&shell);
    assert_eq!(kept.len(), 1);
    assert!(stderr.contains(kept[0].to_str().unwrap()), "{stderr}");
    assert!(fs::read_to_string(&kept[0]).unwrap().contains("tragets"));
    assert_eq!(operator.done("GET /api/revisions", "")["items"].as_array().unwrap().len(), 1);
}

#[test]
fn where_others_were_first_the_file_is_kept() {
    let (_node, operator, shell) = node();
    shell.file("answer-0", "s/echo/lorem/\n");
    shell.file("theirs.yaml", &document(""));
    let binary = env!("CARGO_BIN_EXE_trestle");
    shell.file("meanwhile", &format!("'{binary}' document apply theirs.yaml --force > /dev/null\n"));
    let stderr = edit(&shell).failed(1);
    assert!(stderr.contains("error: others have changed models/m meanwhile"), "{stderr}");
    let kept = kept(&shell);
    assert!(stderr.contains(&format!("kept in {}", kept[0].display())), "{stderr}");
    assert!(fs::read_to_string(&kept[0]).unwrap().contains("mock/lorem"));
    assert_eq!(operator.document().get("models"), None);
}

#[test]
fn an_editor_that_fails_applies_nothing() {
    let (_node, operator, shell) = node();
    let shell = shell.set("VISUAL", "sed -i s/echo/lorem/ \"$1\"; false");
    let stderr = edit(&shell).failed(1);
    assert!(stderr.contains("failed") && stderr.contains("kept in"), "{stderr}");
    assert_eq!(operator.document()["models"]["m"]["targets"][0]["model"], "mock/echo");
}
