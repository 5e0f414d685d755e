//! `trestle document edit`: the document in an editor, until it is valid or given up.

use super::{
    changes::Applied,
    client::Client,
    document::{Run, put},
    failure::{Done, Failure, Refusal},
    print,
};
use crate::{key::hex, private_file};
use anyhow::{Context, anyhow, ensure};
use serde_json::Value;
use std::{
    fs::{self, DirBuilder},
    os::unix::fs::DirBuilderExt,
    path::PathBuf,
    process::{Command, ExitCode},
};

/// What stands before each line that tells problems: such lines at the top are taken off again.
const MARK: &str = "#! ";

/// Edit the document in an editor ($VISUAL, else $EDITOR, else vi), and apply it.
///
/// What is not valid is opened again with the problems on top. An empty file, or one that is as it was, applies nothing.
/// Where others changed the same entities meanwhile, nothing is applied and the file is kept.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  trestle document edit
  EDITOR='code --wait' trestle document edit")]
pub(super) struct Edit {}

impl Edit {
    pub(super) fn run(self, client: &Client, json: bool) -> Done {
        let answer = client.get("/api/document?format=yaml")?;
        let tag = answer.etag.ok_or_else(|| anyhow!("the node does not say the revision of its document"))?;
        let desk = Desk::new()?;
        let mut before = answer.text;
        let mut problems = String::new();
        loop {
            let edited = desk.edit(&format!("{problems}{before}"));
            // Where the editor fails nobody knows what it left.
            let text = edited.map_err(|error| desk.keep_after(error.into()))?;
            if text.trim().is_empty() {
                return Err(anyhow!("the file is empty: nothing was applied").into());
            }
            if text == before {
                if !problems.is_empty() {
                    return Err(desk.keep_after(anyhow!("the document is still not valid").into()));
                }
                print::out("nothing was changed\n")?;
                return Ok(ExitCode::SUCCESS);
            }
            match put(client, &tag, text.clone(), Run::Real) {
                Ok(answer) => {
                    if json {
                        print::json(&answer.read::<Value>()?)?;
                    } else {
                        answer.read::<Applied>()?.print()?;
                    }
                    return Ok(ExitCode::SUCCESS);
                }
                Err(Failure::Refused(refusal)) if refusal.status == 422 => problems = comments(&refusal),
                Err(failure) => return Err(desk.keep_after(failure)),
            }
            before = text;
        }
    }
}

fn comments(refusal: &Refusal) -> String {
    let mut text = format!("{MARK}{}; mend it, or empty the file to give up:\n", first_line(refusal));
    for problem in &refusal.problems {
        text.push_str(&format!("{MARK}{}\n", problem.to_string().replace('\n', " ")));
    }
    text
}

fn first_line(refusal: &Refusal) -> String {
    refusal.to_string().lines().next().unwrap_or_default().to_owned()
}

fn without_comments(text: &str) -> String {
    text.split_inclusive('\n').skip_while(|line| line.starts_with(MARK)).collect()
}

/// A folder that is private to this user, with the file that is edited: it may get secrets in clear.
struct Desk {
    folder: PathBuf,
    file: PathBuf,
    kept: std::cell::Cell<bool>,
}

impl Desk {
    fn new() -> anyhow::Result<Self> {
        let mut bits = [0; 8];
        getrandom::fill(&mut bits).map_err(|error| anyhow!("the system gives no random numbers: {error}"))?;
        let folder = std::env::temp_dir().join(format!("trestle-{}", hex(&bits)));
        // Fails if it is there, so that nobody else can have made it.
        let made = DirBuilder::new().mode(0o700).create(&folder);
        made.with_context(|| format!("cannot make {}", folder.display()))?;
        let file = folder.join("document.yaml");
        Ok(Self { folder, file, kept: std::cell::Cell::new(false) })
    }

    /// What the editor leaves of a text.
    fn edit(&self, text: &str) -> anyhow::Result<String> {
        private_file::write(&self.file, text)?;
        let set = |name: &str| std::env::var(name).ok().filter(|value| !value.trim().is_empty());
        let editor = set("VISUAL").or_else(|| set("EDITOR")).unwrap_or_else(|| "vi".to_owned());
        // By a shell, as others do: the variable may hold options as well.
        let ended = Command::new("sh")
            .args(["-c", &format!("{editor} \"$@\""), "sh"])
            .arg(&self.file)
            .status()
            .with_context(|| format!("cannot start the editor `{editor}`"))?;
        ensure!(ended.success(), "the editor `{editor}` failed ({ended}); nothing was applied");
        let text = fs::read_to_string(&self.file);
        Ok(without_comments(&text.with_context(|| format!("cannot read {}", self.file.display()))?))
    }

    /// Keeps the file for who wrote it, and says where it is.
    fn keep_after(&self, failure: Failure) -> Failure {
        self.kept.set(true);
        let shown = self.file.display();
        eprintln!("what you wrote is kept in {shown}: apply it with `trestle document apply`");
        failure
    }

    fn clear(&self) {
        if !self.kept.get() {
            let _ = fs::remove_dir_all(&self.folder);
        }
    }
}

impl Drop for Desk {
    fn drop(&mut self) {
        self.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_problems_at_the_top_are_taken_off() {
        assert_eq!(without_comments("#! a\n#! b\n# mine\nkeys: {}\n#! c\n"), "# mine\nkeys: {}\n#! c\n");
        assert_eq!(without_comments("keys: {}"), "keys: {}");
    }

    #[test]
    fn a_desk_is_private_and_cleared() {
        use std::os::unix::fs::PermissionsExt;
        let desk = Desk::new().unwrap();
        let folder = desk.folder.clone();
        assert_eq!(fs::metadata(&folder).unwrap().permissions().mode() & 0o777, 0o700);
        drop(desk);
        assert!(!folder.exists());
        let desk = Desk::new().unwrap();
        desk.keep_after(Failure::Closed);
        let folder = desk.folder.clone();
        drop(desk);
        assert!(folder.exists());
        fs::remove_dir_all(folder).unwrap();
    }
}
