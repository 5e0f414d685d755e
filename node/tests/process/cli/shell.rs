//! A shell of an operator: commands that ask a node, with nothing of this process's environment.

use crate::{operator::TOKEN, support::Node};
use serde_json::Value;
use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};
use tempfile::TempDir;

/// A folder and an environment to run commands in.
pub(crate) struct Shell {
    folder: TempDir,
    variables: Vec<(String, String)>,
}

/// What a command left.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ran {
    /// What it printed, if it succeeded.
    pub(crate) fn ok(self) -> String {
        assert_eq!(self.code, 0, "{self:?}");
        self.stdout
    }

    /// What it complained of, if it ended with this status.
    pub(crate) fn failed(self, code: i32) -> String {
        assert_eq!(self.code, code, "{self:?}");
        self.stderr
    }

    /// What it printed as JSON, if it succeeded.
    pub(crate) fn json(self) -> Value {
        let stdout = self.ok();
        serde_json::from_str(&stdout).unwrap_or_else(|error| panic!("{error}: {stdout}"))
    }
}

impl Shell {
    /// One that knows no node.
    pub(crate) fn bare() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let variables = [
            ("PATH", "/usr/local/bin:/usr/bin:/bin".to_owned()),
            ("HOME", folder.path().join("home").display().to_string()),
            ("TMPDIR", folder.path().display().to_string()),
        ];
        let variables = variables.map(|(name, value)| (name.to_owned(), value)).to_vec();
        Self { folder, variables }
    }

    /// One that asks a node with the token of the tests.
    pub(crate) fn of(node: &Node) -> Self {
        Self::bare().set("TRESTLE_URL", &format!("http://{}", node.address)).set("TRESTLE_ADMIN_TOKEN", TOKEN)
    }

    /// With a variable.
    pub(crate) fn set(mut self, name: &str, value: &str) -> Self {
        self.variables.retain(|(known, _)| known != name);
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Where commands run.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// A file in that folder.
    pub(crate) fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.folder().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Ran {
        self.run_with(arguments, "")
    }

    /// With something on stdin.
    pub(crate) fn run_with(&self, arguments: &[&str], input: &str) -> Ran {
        let mut command = self.command(env!("CARGO_BIN_EXE_trestle"), arguments);
        let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
        // What is not read is no matter.
        let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
        ran(child.wait_with_output().unwrap())
    }

    /// With nobody to read what it prints.
    pub(crate) fn run_unread(&self, arguments: &[&str]) -> Ran {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        ran(self.command(env!("CARGO_BIN_EXE_trestle"), arguments).stdout(writer).output().unwrap())
    }

    /// A line for `sh`, in which `trestle` is the binary.
    pub(crate) fn sh(&self, line: &str) -> Ran {
        let line = format!("trestle() {{ '{}' \"$@\"; }}; {line}", env!("CARGO_BIN_EXE_trestle"));
        ran(self.command("sh", &["-c", &line]).output().unwrap())
    }

    fn command(&self, program: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new(program);
        command.env_clear().envs(self.variables.iter().cloned()).args(arguments).current_dir(self.folder());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }
}

fn ran(Output { status, stdout, stderr }: Output) -> Ran {
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Ran { code: status.code().unwrap(), stdout: text(stdout), stderr: text(stderr) }
}
