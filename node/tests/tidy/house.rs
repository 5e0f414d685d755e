//! What the house rules read: the tracked files, the manifests, and the crates as cargo sees them.

#![allow(clippy::expect_used, clippy::panic)] // a test's own support: a panic is a failed test

use cargo_metadata::{MetadataCommand, Package};
use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// The tracked files by path (with `/`), as text; files that are no text are empty.
pub(crate) struct House {
    files: BTreeMap<String, String>,
}

impl House {
    /// Reads the tree.
    pub(crate) fn read() -> Self {
        let root = root();
        let files = tracked(&root).unwrap_or_else(|| walked(&root));
        assert!(files.iter().any(|path| path == "Cargo.toml"), "no tree under {}", root.display());
        let read = |path: String| {
            // A tracked file that was just deleted is no longer a matter for the rules.
            let bytes = fs::read(root.join(&path)).ok()?;
            Some((path, String::from_utf8(bytes).unwrap_or_default()))
        };
        Self { files: files.into_iter().filter_map(read).collect() }
    }

    /// Our crates.
    pub(crate) fn packages() -> Vec<Package> {
        let metadata = MetadataCommand::new().current_dir(root()).no_deps().exec();
        metadata.expect("cargo metadata").packages
    }

    /// All paths.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &str> {
        self.files.keys().map(String::as_str)
    }

    /// All files with their text.
    pub(crate) fn files(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files.iter().map(|(path, text)| (path.as_str(), text.as_str()))
    }

    /// The Rust files.
    pub(crate) fn rust(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files().filter(|(path, _)| path.ends_with(".rs"))
    }

    /// The text of one file.
    pub(crate) fn text(&self, path: &str) -> String {
        self.files.get(path).cloned().unwrap_or_else(|| panic!("no file {path}"))
    }

    /// The manifests of the workspace; the fuzz crate is a workspace of its own.
    pub(crate) fn manifests(&self) -> impl Iterator<Item = (&str, toml::Table)> {
        let manifests = self.files().filter(|(path, _)| path.ends_with("Cargo.toml"));
        let parsed = manifests.map(|(path, text)| (path, text.parse::<toml::Table>().expect("a manifest")));
        parsed.filter(|(path, manifest)| *path == "Cargo.toml" || !manifest.contains_key("workspace"))
    }

    /// The folders of the members, each with its `/`.
    pub(crate) fn member_folders(&self) -> impl Iterator<Item = &str> {
        let manifests = self.manifests().map(|(path, _)| path);
        manifests.filter_map(|path| path.strip_suffix("Cargo.toml")).filter(|folder| !folder.is_empty())
    }

    fn shared_table(&self) -> toml::Table {
        let root: toml::Table = self.text("Cargo.toml").parse().expect("the root manifest");
        let table = root["workspace"]["dependencies"].as_table();
        table.expect("workspace.dependencies").clone()
    }

    /// The names in the root's table of dependencies.
    pub(crate) fn shared(&self) -> Vec<String> {
        self.shared_table().into_iter().map(|(name, _)| name).collect()
    }

    /// The same with their versions, but for our own crates.
    pub(crate) fn shared_versions(&self) -> Vec<(String, String)> {
        let version = |entry: &toml::Value| {
            let text = entry.as_str().or_else(|| entry.get("version")?.as_str());
            text.map(str::to_owned)
        };
        let table = self.shared_table().into_iter();
        table.filter_map(|(name, entry)| version(&entry).map(|version| (name, version))).collect()
    }

    /// Whether a link in a page leads somewhere: a file or folder of the tree, and a heading in it.
    pub(crate) fn resolve(&self, page: &str, target: &str) -> Result<(), String> {
        let (file, anchor) = target.split_once('#').map_or((target, None), |(f, a)| (f, Some(a)));
        let path = if file.is_empty() { page.to_owned() } else { beside(page, file) };
        let folder = format!("{}/", path.trim_end_matches('/'));
        if !self.files.contains_key(&path) && !self.paths().any(|known| known.starts_with(&folder)) {
            return Err(format!("no tracked file {path}"));
        }
        let Some(anchor) = anchor else { return Ok(()) };
        let text = self.files.get(&path).map(String::as_str).unwrap_or_default();
        let headings = text.lines().filter_map(|line| line.trim_start_matches('#').strip_prefix(' '));
        if headings.map(slug).any(|slug| slug == anchor) {
            return Ok(());
        }
        Err(format!("{path} has no heading for it"))
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace").to_owned()
}

/// What git tracks; nothing where there is no git or no repository.
fn tracked(root: &Path) -> Option<Vec<String>> {
    let output = Command::new("git").args(["ls-files", "-z"]).current_dir(root).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let paths: Vec<_> = text.split('\0').filter(|path| !path.is_empty()).map(str::to_owned).collect();
    (output.status.success() && paths.iter().any(|path| path == "Cargo.toml")).then_some(paths)
}

/// All files but those of git and of builds.
fn walked(root: &Path) -> Vec<String> {
    let (mut folders, mut files) = (vec![root.to_owned()], Vec::new());
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder").flatten() {
            let path = entry.path();
            let name = entry.file_name();
            if name == "target" || name == ".git" {
                continue;
            }
            if path.is_dir() {
                folders.push(path);
            } else if let Some(path) = path.strip_prefix(root).ok().and_then(Path::to_str) {
                files.push(path.to_owned());
            }
        }
    }
    files
}

/// Lines of a Rust file with their numbers, without comments and blank ones.
pub(crate) fn code_of(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines = text.lines().enumerate().map(|(at, line)| {
        let code = if line.trim_start().starts_with("//") { "" } else { line };
        (at + 1, code.split(" // ").next().unwrap_or_default().trim())
    });
    lines.filter(|(_, line)| !line.is_empty())
}

/// All dependencies of a manifest: table, name, entry.
pub(crate) fn dependencies(manifest: &toml::Table) -> Vec<(&'static str, String, toml::Value)> {
    let tables = ["dependencies", "dev-dependencies", "build-dependencies"];
    let entries = |table: &'static str| {
        let found = manifest.get(table).and_then(toml::Value::as_table).cloned().unwrap_or_default();
        found.into_iter().map(move |(name, entry)| (table, name, entry))
    };
    tables.into_iter().flat_map(entries).collect()
}

/// The targets of links within the tree, outside of code blocks.
pub(crate) fn links(text: &str) -> Vec<&str> {
    let prose = text.split("```").step_by(2);
    let targets = prose.flat_map(|part| part.split("](").skip(1).filter_map(|rest| rest.split(')').next()));
    targets.filter(|target| !target.contains("://") && !target.starts_with("mailto:")).collect()
}

/// The path of a link, seen from the page that holds it.
fn beside(page: &str, link: &str) -> String {
    let mut parts: Vec<_> = page.split('/').collect();
    parts.pop();
    for part in link.split('/') {
        match part {
            "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// The anchor that a heading gets.
fn slug(heading: &str) -> String {
    let kept = heading.to_lowercase().replace(' ', "-");
    kept.chars().filter(|c| c.is_alphanumeric() || *c == '-' || *c == '_').collect()
}

/// Findings, one a line.
pub(crate) fn joined(findings: &[String]) -> String {
    findings.join("\n")
}
