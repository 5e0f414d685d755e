//! A virtual environment with the pinned packages of a suite, and pytest in it.

#![allow(clippy::expect_used, clippy::panic)] // a panic is a failed test

use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
    process::{Command, Output},
    sync::OnceLock,
};

/// An environment that is ready.
pub(crate) struct Environment {
    python: PathBuf,
    folder: PathBuf,
}

impl Environment {
    /// The environment of the suite in a folder of the checkout, made where it is missing or of other pins (`requirements.txt` there);
    /// `None` where it cannot be had and is not required. Each suite is asked for by one name of a virtual environment.
    pub(crate) fn of(name: &'static str, folder: &str) -> Option<&'static Self> {
        static MADE: OnceLock<Result<Environment, String>> = OnceLock::new();
        or_skip(MADE.get_or_init(|| make(name, folder)))
    }

    /// Its interpreter.
    #[allow(dead_code, reason = "for suites that run more than pytest")]
    pub(crate) fn python(&self) -> &Path {
        &self.python
    }

    /// Runs the suites once with these variables and fails with their report.
    pub(crate) fn run(&self, variables: &[(&str, String)]) {
        let mut pytest = Command::new(&self.python);
        pytest.args(["-m", "pytest", "-q", "--tb=short", "-p", "no:cacheprovider"]);
        pytest.args(["-W", "ignore::DeprecationWarning"]).arg(&self.folder);
        for name in FOREIGN_VARIABLES {
            pytest.env_remove(name);
        }
        pytest.env("PYTHONDONTWRITEBYTECODE", "1").env("NO_PROXY", "127.0.0.1");
        pytest.envs(variables.iter().map(|(name, value)| (name, value)));
        let output = pytest.output().expect("pytest starts");
        assert!(output.status.success(), "{}", text(&output));
    }
}

/// What is ready; `None`, and a word about it, where it cannot be had and is not required.
pub(crate) fn or_skip<T>(made: &'static Result<T, String>) -> Option<&'static T> {
    match made {
        Ok(ready) => Some(ready),
        Err(problem) => {
            let required = std::env::var("TRESTLE_REQUIRE_CLIENTS").is_ok_and(|value| value == "1");
            assert!(!required, "the client tests are required, but: {problem}");
            // Not `eprintln!`, which the test harness keeps to itself where a test passes.
            let skipped = format!("SKIPPED: tests with other vendors' clients did not run: {problem}\n");
            let _ = std::io::stderr().write_all(skipped.as_bytes());
            None
        }
    }
}

/// Variables of ours that must not come from outside, and proxies, which would be asked for the node.
pub(crate) const FOREIGN_VARIABLES: [&str; 5] =
    ["TRESTLE_TEST_DIRECT", "http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"];

fn make(name: &str, folder: &str) -> Result<Environment, String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(folder);
    let requirements = folder.join("requirements.txt");
    let pins = fs::read_to_string(&requirements).map_err(|error| error.to_string())?;
    let version = run(Command::new("python3").arg("--version"))?;
    let wanted = format!("{version}{pins}");
    let venv = beside_the_build(name)?;
    let (python, stamp) = (venv.join("bin/python"), venv.join("made-of.txt"));
    if fs::read_to_string(&stamp).is_ok_and(|made| made == wanted) {
        return Ok(Environment { python, folder });
    }
    run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&venv))?;
    let options = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--retries", "5", "-r"];
    run(Command::new(&python).args(options).arg(requirements))?;
    fs::write(&stamp, wanted).map_err(|error| error.to_string())?;
    Ok(Environment { python, folder })
}

/// A folder for what is made once.
pub(crate) fn beside_the_build(name: &str) -> Result<PathBuf, String> {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().ok_or("no target folder")?;
    Ok(target.join(name))
}

/// The output of a command that ends well; else what it said.
pub(crate) fn run(command: &mut Command) -> Result<String, String> {
    let output = command.output().map_err(|error| format!("{command:?}: {error}"))?;
    let said = text(&output);
    if output.status.success() { Ok(said) } else { Err(format!("{command:?}: {}: {said}", output.status)) }
}

/// What a command said.
pub(crate) fn text(output: &Output) -> String {
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    format!("{out}{err}")
}
