//! The pinned npm packages, and the suite that Node runs with them.

#![allow(clippy::expect_used, clippy::panic)] // a panic is a failed test

use crate::environment::{FOREIGN_VARIABLES, beside_the_build, or_skip, run, text};
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::OnceLock,
};

/// Where the packages are; modules are looked for beside the file that asks for them, so the suite lies there too.
pub(crate) struct Packages {
    folder: PathBuf,
}

/// What lies beside the packages.
const FILES: [&str; 3] = ["package.json", "package-lock.json", "suite.test.mjs"];

impl Packages {
    /// The packages, installed where they are missing or of other pins; `None` where they cannot be had and are not
    /// required.
    pub(crate) fn get() -> Option<&'static Self> {
        static MADE: OnceLock<Result<Packages, String>> = OnceLock::new();
        or_skip(MADE.get_or_init(make))
    }

    /// Runs the suite once with these variables and fails with its report.
    pub(crate) fn run(&self, variables: &[(&str, String)]) {
        let mut node = Command::new("node");
        node.args(["--test", "--test-reporter=spec", "suite.test.mjs"]).current_dir(&self.folder);
        for name in FOREIGN_VARIABLES {
            node.env_remove(name);
        }
        node.env("NO_PROXY", "127.0.0.1").envs(variables.iter().map(|(name, value)| (name, value)));
        let output = node.output().expect("node starts");
        assert!(output.status.success(), "{}", text(&output));
    }
}

fn make() -> Result<Packages, String> {
    let problem = |error: std::io::Error| error.to_string();
    let version = run(Command::new("node").arg("--version"))?;
    let (from, to) =
        (Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients/ai"), beside_the_build("clients-npm")?);
    fs::create_dir_all(&to).map_err(problem)?;
    for file in FILES {
        fs::copy(from.join(file), to.join(file)).map_err(problem)?;
    }
    let lock = fs::read_to_string(from.join("package-lock.json")).map_err(problem)?;
    let (wanted, stamp) = (format!("{version}{lock}"), to.join("made-of.txt"));
    if fs::read_to_string(&stamp).is_ok_and(|made| made == wanted) {
        return Ok(Packages { folder: to });
    }
    let options = ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
    run(Command::new("npm").args(options).current_dir(&to))?;
    fs::write(&stamp, wanted).map_err(problem)?;
    Ok(Packages { folder: to })
}
