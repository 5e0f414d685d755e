//! Profiles: nodes by name, with their tokens, in a file of the operator. Texts of errors never hold a value of it.

use crate::{control::NodeSecrets, private_file};
use anyhow::{Context, anyhow, bail};
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};
use trestle_config::Secrets;

/// The members of a profile.
const MEMBERS: [&str; 3] = ["url", "token", "ca"];

/// The profiles of a file.
#[derive(Debug, Default)]
pub(super) struct Profiles {
    path: PathBuf,
    /// The one that is meant where none is named.
    pub(super) default: Option<String>,
    profiles: BTreeMap<String, Profile>,
}

/// A node by its name.
#[derive(Clone, Default)]
pub(super) struct Profile {
    pub(super) url: Option<String>,
    /// Not read yet: a reference, or the token itself.
    token: Option<String>,
    pub(super) ca: Option<PathBuf>,
}

impl std::fmt::Debug for Profile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Profile").field("url", &self.url).field("ca", &self.ca).finish_non_exhaustive()
    }
}

impl Profiles {
    /// Those of the file of this user; none if there is no file.
    pub(super) fn load(env: impl Fn(&str) -> Option<String>) -> anyhow::Result<Self> {
        let Some(path) = default_path(env) else { return Ok(Self::default()) };
        // Secrets in clear are for their owner alone; without them the file may be shared.
        let (text, private) = match private_file::read(&path) {
            Ok(None) => return Ok(Self { path, ..Self::default() }),
            Ok(Some(text)) => (text, true),
            Err(_) => {
                let text = std::fs::read_to_string(&path);
                (text.with_context(|| format!("cannot read {}", path.display()))?, false)
            }
        };
        let profiles = Self::parse(path, &text)?;
        let clear = profiles.profiles.iter().find(|(_, profile)| {
            profile.token.as_deref().is_some_and(|token| reference(token) == Reference::None)
        });
        if let (Some((name, _)), false) = (clear, private) {
            bail!(
                "{}: profiles.{name}.token: is a token in clear, and others may read the file: `chmod 600` it, or write \
                 `env:NAME` or `file:PATH`",
                profiles.path.display()
            );
        }
        Ok(profiles)
    }

    fn parse(path: PathBuf, text: &str) -> anyhow::Result<Self> {
        let shown = path.display().to_string();
        // The error itself would show the line, and with it what may be a secret.
        let table: toml::Table = toml::from_str(text).map_err(|error: toml::de::Error| {
            let at = error.span().map_or(0, |span| span.start);
            let line = text.get(..at).unwrap_or_default().matches('\n').count() + 1;
            anyhow!("{shown}: line {line} is no TOML")
        })?;
        let mut all = Self { path, ..Self::default() };
        let folder = all.path.parent().unwrap_or(Path::new("")).to_owned();
        for (name, value) in &table {
            match (name.as_str(), value) {
                ("default", toml::Value::String(name)) => all.default = Some(name.clone()),
                ("profiles", toml::Value::Table(profiles)) => {
                    for (name, profile) in profiles {
                        let read = one(profile, &folder);
                        let read = read.map_err(|problem| anyhow!("{shown}: profiles.{name}{problem}"))?;
                        all.profiles.insert(name.clone(), read);
                    }
                }
                ("default", _) => bail!("{shown}: default: must be the name of a profile"),
                ("profiles", _) => bail!("{shown}: profiles: must be tables, such as [profiles.prod]"),
                _ => bail!("{shown}: {name}: unknown member; there are default, profiles"),
            }
        }
        Ok(all)
    }

    /// The profile of a name.
    pub(super) fn find(&self, name: &str) -> anyhow::Result<&Profile> {
        self.profiles.get(name).ok_or_else(|| {
            let names: Vec<_> = self.profiles.keys().map(String::as_str).collect();
            let there = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            anyhow!("there is no profile `{name}` in {}; there are: {there}", self.path.display())
        })
    }
}

impl Profile {
    pub(super) fn has_token(&self) -> bool {
        self.token.is_some()
    }

    /// The token that the profile names.
    pub(super) fn token(&self) -> anyhow::Result<Option<String>> {
        self.token.as_deref().map(read_token).transpose()
    }
}

fn one(profile: &toml::Value, folder: &Path) -> Result<Profile, String> {
    let toml::Value::Table(members) = profile else {
        return Err(": must be a table".to_owned());
    };
    let mut read = Profile::default();
    for (name, value) in members {
        if !MEMBERS.contains(&name.as_str()) {
            return Err(format!(".{name}: unknown member; there are {}", MEMBERS.join(", ")));
        }
        let toml::Value::String(text) = value else {
            return Err(format!(".{name}: is {}, must be a string", value.type_str()));
        };
        match name.as_str() {
            "url" => read.url = Some(text.clone()),
            "ca" => read.ca = Some(folder.join(text)),
            _ => read.token = Some(beside(text, folder)),
        }
    }
    Ok(read)
}

/// Paths are meant from the folder of the file.
fn beside(token: &str, folder: &Path) -> String {
    match reference(token) {
        Reference::File(path) => format!("file:{}", folder.join(path).display()),
        Reference::Env(_) | Reference::None => token.to_owned(),
    }
}

/// Where the file is by the convention of the desktop.
fn default_path(env: impl Fn(&str) -> Option<String>) -> Option<PathBuf> {
    let absolute = |name: &str| env(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let folder = absolute("XDG_CONFIG_HOME").or_else(|| Some(absolute("HOME")?.join(".config")))?;
    Some(folder.join("trestle/config.toml"))
}

#[derive(Debug, PartialEq, Eq)]
enum Reference<'a> {
    Env(&'a str),
    File(&'a str),
    None,
}

fn reference(text: &str) -> Reference<'_> {
    match (text.strip_prefix("env:"), text.strip_prefix("file:")) {
        (Some(name), _) => Reference::Env(name),
        (_, Some(path)) => Reference::File(path),
        (None, None) => Reference::None,
    }
}

/// A token, or what a reference to one stands for.
pub(super) fn read_token(text: &str) -> anyhow::Result<String> {
    read_secret("the admin token", text)
}

/// The same of a secret of any kind.
pub(super) fn read_secret(what: &str, text: &str) -> anyhow::Result<String> {
    let secrets = NodeSecrets::unsealed();
    let read = match reference(text) {
        Reference::Env(name) => secrets.env(name),
        Reference::File(path) => secrets.file(path),
        Reference::None => Ok(text.to_owned()),
    };
    read.map(|text| text.trim().to_owned()).map_err(|why| anyhow!("{what}: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> anyhow::Result<Profiles> {
        Profiles::parse(PathBuf::from("/c/config.toml"), text)
    }

    #[test]
    fn profiles_are_read() {
        let text = "default = \"a\"\n[profiles.a]\nurl = \"https://a\"\ntoken = \"file:t\"\nca = \"ca.pem\"\n[profiles.b]\n";
        let read = parse(text).unwrap();
        assert_eq!(read.default.as_deref(), Some("a"));
        let a = read.find("a").unwrap();
        assert_eq!(
            (a.url.as_deref(), a.token.as_deref(), a.ca.clone()),
            (Some("https://a"), Some("file:/c/t"), Some(PathBuf::from("/c/ca.pem")))
        );
        assert!(!read.find("b").unwrap().has_token());
        assert!(read.find("c").unwrap_err().to_string().ends_with("there are: a, b"));
    }

    #[test]
    fn wrong_members_are_named_and_never_their_values() {
        for (text, wanted) in [
            ("defualt = \"secret\"", "/c/config.toml: defualt: unknown member; there are default, profiles"),
            ("[profiles.a]\ntokn = \"secret\"", "profiles.a.tokn: unknown member; there are url, token, ca"),
            ("[profiles.a]\nurl = 5", "profiles.a.url: is integer, must be a string"),
            ("[profiles]\na = \"secret\"", "profiles.a: must be a table"),
            ("profiles = \"secret\"", "profiles: must be tables"),
            ("default = []", "default: must be the name"),
            ("[profiles.a]\ntoken = \"secret", "line 2 is no TOML"),
        ] {
            let error = parse(text).unwrap_err().to_string();
            assert!(error.contains(wanted) && !error.contains("secret"), "{text}: {error}");
        }
    }

    #[test]
    fn the_file_is_where_the_desktop_has_it() {
        let path = |set: &[(&str, &str)]| {
            let set: BTreeMap<_, _> = set.iter().copied().collect();
            default_path(|name| set.get(name).map(|value| (*value).to_owned()))
        };
        assert_eq!(path(&[("HOME", "/h")]), Some(PathBuf::from("/h/.config/trestle/config.toml")));
        let both = [("HOME", "/h"), ("XDG_CONFIG_HOME", "/x")];
        assert_eq!(path(&both), Some(PathBuf::from("/x/trestle/config.toml")));
        assert_eq!(path(&[("XDG_CONFIG_HOME", "relative")]), None);
    }
}
