//! Which node a command asks, and with which token. Flags win over the environment, the environment over the profile.

use super::{
    dev::DevFile,
    failure::Failure,
    profile::{Profile, Profiles, read_token},
};
use anyhow::Context;
use http::Uri;
use std::{net::IpAddr, path::PathBuf};

/// Options of all commands that ask a node.
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "Which node")]
pub(super) struct Remote {
    /// The node, such as `https://gateway.example:9090` [env: TRESTLE_URL].
    #[arg(long, global = true, value_name = "URL")]
    url: Option<String>,
    /// A file that holds the admin token; TRESTLE_ADMIN_TOKEN holds the token itself.
    #[arg(long, global = true, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// A profile of ~/.config/trestle/config.toml [env: TRESTLE_PROFILE].
    #[arg(long, global = true, value_name = "NAME")]
    profile: Option<String>,
    /// The certificate of the only authority that is trusted, in PEM.
    #[arg(long, global = true, value_name = "FILE")]
    ca: Option<PathBuf>,
    /// Print the API's answer as it is, for scripts.
    #[arg(long, global = true, help_heading = "Output")]
    pub(super) json: bool,
}

/// A node that is asked.
#[derive(Clone)]
pub(super) struct Target {
    /// Without a slash at its end.
    pub(super) url: String,
    pub(super) token: String,
    pub(super) ca: Option<PathBuf>,
}

impl Remote {
    /// The node that is meant.
    pub(super) fn target(&self) -> Result<Target, Failure> {
        let env = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        self.choose(env, DevFile::of_default).map_err(|error| Failure::NoNode(format!("{error:#}")))
    }

    fn choose(
        &self,
        env: impl Fn(&str) -> Option<String>,
        dev: impl Fn() -> anyhow::Result<Option<DevFile>>,
    ) -> anyhow::Result<Target> {
        let profiles = Profiles::load(&env)?;
        // A profile that is named on the command line is a flag: it goes before the environment.
        let flag = self.profile.as_deref().map(|name| profiles.find(name)).transpose()?;
        let other = env("TRESTLE_PROFILE").or(profiles.default.clone());
        let other = match (flag, other) {
            (None, Some(name)) => Some(profiles.find(&name)?),
            _ => None,
        };
        let of = |profile: Option<&Profile>| profile.and_then(|profile| profile.url.clone());
        let url = self.url.clone().or_else(|| of(flag)).or_else(|| env("TRESTLE_URL")).or_else(|| of(other));
        let Some(url) = url else { return self.of_dev(env, dev) };
        let url = url.trim_end_matches('/').to_owned();
        // What a profile holds is for its own node alone: no other gets its token.
        let own =
            |profile: &&Profile| profile.url.as_deref().is_some_and(|own| own.trim_end_matches('/') == url);
        let (flag, other) = (flag.filter(own), other.filter(own));
        let token = if let Some(path) = &self.token_file {
            Some(read_file(path)?)
        } else if let Some(profile) = flag.filter(|profile| profile.has_token()) {
            profile.token()?
        } else if let Some(token) = env("TRESTLE_ADMIN_TOKEN") {
            Some(token.trim().to_owned())
        } else {
            other.map(Profile::token).transpose()?.flatten()
        };
        let token = token.with_context(|| {
            format!(
                "no admin token for {url}: set TRESTLE_ADMIN_TOKEN, or give --token-file FILE, or a profile of this URL"
            )
        })?;
        let ca = self.ca.clone().or_else(|| flag.or(other).and_then(|profile| profile.ca.clone()));
        target(url, (Carried::Token, token), ca)
    }

    /// What `trestle dev` left, for those who have set nothing at all.
    fn of_dev(
        &self,
        env: impl Fn(&str) -> Option<String>,
        dev: impl Fn() -> anyhow::Result<Option<DevFile>>,
    ) -> anyhow::Result<Target> {
        let with_token = self.token_file.is_some() || env("TRESTLE_ADMIN_TOKEN").is_some();
        let nothing = !with_token && self.profile.is_none();
        match if nothing { dev()? } else { None } {
            Some(file) if !file.admin_token.is_empty() => {
                eprintln!("asking the node of `trestle dev` at {}", file.url);
                target(file.url, (Carried::Token, file.admin_token), None)
            }
            _ => anyhow::bail!(
                "no node to ask: give --url URL, or set TRESTLE_URL, or make a profile (see `trestle help`)"
            ),
        }
    }
}

fn read_file(path: &std::path::Path) -> anyhow::Result<String> {
    let path = path.to_str().with_context(|| format!("{}: is no UTF-8", path.display()))?;
    read_token(&format!("file:{path}"))
}

/// What goes along with each request, so that the node knows who asks.
#[derive(Debug, Clone, Copy)]
pub(super) enum Carried {
    /// Of an operator.
    Token,
    /// Of an application.
    Key,
}

impl Carried {
    fn name(self) -> &'static str {
        match self {
            Self::Token => "admin token",
            Self::Key => "key",
        }
    }
}

/// A node at a URL that is one.
pub(super) fn target(
    url: String,
    (carried, token): (Carried, String),
    ca: Option<PathBuf>,
) -> anyhow::Result<Target> {
    let scheme = check_url(&url)?;
    if scheme == "http" && !is_loopback(&url) {
        eprintln!(
            "warning: the {} goes to {url} in clear: whoever is in between can read it; use https",
            carried.name()
        );
    }
    Ok(Target { url, token, ca })
}

/// Refuses what is no URL of a node; its scheme.
pub(super) fn check_url(url: &str) -> anyhow::Result<&str> {
    let uri = url.parse::<Uri>().ok().filter(|uri| uri.path() == "/" && uri.query().is_none());
    let is_known = uri.is_some_and(|uri| {
        let is_plain = uri.authority().is_some_and(|authority| !authority.as_str().contains('@'));
        is_plain && uri.scheme_str().is_some_and(|scheme| ["http", "https"].contains(&scheme))
    });
    // Not shown: there may be a password in it.
    url.split_once(':')
        .filter(|_| is_known)
        .map(|(scheme, _)| scheme)
        .context("the URL of the node must be `http://HOST:PORT` or `https://HOST:PORT`, and nothing more")
}

/// The host is this machine: no proxy, and no one in between who could read the token.
pub(super) fn is_loopback(url: &str) -> bool {
    let uri = url.parse::<Uri>().ok();
    let host = uri.as_ref().and_then(Uri::host).unwrap_or_default().trim_matches(['[', ']']);
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|host| host.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{collections::BTreeMap, fs, os::unix::fs::PermissionsExt};

    const FILE: &str = "default = \"a\"\n[profiles.a]\nurl = \"https://a\"\ntoken = \"of-a\"\n\
                        [profiles.b]\nurl = \"https://b/\"\ntoken = \"of-b\"\nca = \"/b.pem\"\n[profiles.c]\nurl = \"https://c\"\n";

    /// The URL and token that are chosen with these flags (`--url`, `--profile`) and variables.
    fn check(file: &str, flags: [Option<&str>; 2], set: &[(&str, &str)]) -> Result<String, String> {
        let folder = tempfile::tempdir().unwrap();
        let config = folder.path().join("trestle/config.toml");
        fs::create_dir(config.parent().unwrap()).unwrap();
        fs::write(&config, file).unwrap();
        fs::set_permissions(&config, fs::Permissions::from_mode(0o600)).unwrap();
        let mut set: BTreeMap<_, _> = set.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
        set.insert("XDG_CONFIG_HOME", folder.path().display().to_string());
        let [url, profile] = flags.map(|flag| flag.map(str::to_owned));
        let remote = Remote { url, profile, token_file: None, ca: None, json: false };
        let dev = || {
            let file = r#"{"url":"http://127.0.0.1:1","key":"k","admin_token":"of-dev"}"#;
            Ok(serde_json::from_str(file).ok())
        };
        let chosen =
            remote.choose(|name| set.get(name).cloned(), dev).map_err(|error| format!("{error:#}"))?;
        let ca = chosen.ca.map(|ca| format!(" {}", ca.display())).unwrap_or_default();
        Ok(format!("{} {}{ca}", chosen.url, chosen.token))
    }

    #[test]
    fn flags_win_over_the_environment_and_that_over_the_profile() {
        let url = ("TRESTLE_URL", "https://e");
        let token = ("TRESTLE_ADMIN_TOKEN", "of-env");
        for (flags, set, wanted) in [
            ([None, None], &[][..], "https://a of-a"),
            ([None, Some("b")], &[][..], "https://b of-b /b.pem"),
            ([None, None], &[("TRESTLE_PROFILE", "b")][..], "https://b of-b /b.pem"),
            ([None, None], &[url, token][..], "https://e of-env"),
            ([None, None], &[token][..], "https://a of-env"),
            ([None, Some("b")], &[url, token][..], "https://b of-b /b.pem"),
            ([None, Some("c")], &[token][..], "https://c of-env"),
            ([Some("https://f"), Some("b")], &[url, token][..], "https://f of-env"),
            ([Some("https://b"), Some("b")], &[][..], "https://b of-b /b.pem"),
        ] {
            assert_eq!(check(FILE, flags, set).as_deref(), Ok(wanted), "{flags:?} {set:?}");
        }
        assert_eq!(check("", [None, None], &[]).as_deref(), Ok("http://127.0.0.1:1 of-dev"));
    }

    #[test]
    fn what_is_missing_is_said_and_no_token_goes_elsewhere() {
        let url = ("TRESTLE_URL", "https://e");
        for (file, flags, set, wanted) in [
            (FILE, [Some("https://f"), None], &[][..], "no admin token for https://f"),
            (FILE, [Some("https://f"), Some("b")], &[][..], "no admin token for https://f"),
            (FILE, [None, None], &[url][..], "no admin token for https://e"),
            (FILE, [None, Some("z")], &[][..], "no profile `z`"),
            ("", [None, None], &[("TRESTLE_ADMIN_TOKEN", "t")][..], "no node to ask"),
            (FILE, [Some("ftp://f"), None], &[("TRESTLE_ADMIN_TOKEN", "t")][..], "must be `http://"),
            (FILE, [Some("https://u:p@f"), None], &[("TRESTLE_ADMIN_TOKEN", "t")][..], "must be `http://"),
            (FILE, [Some("https://f/api"), None], &[("TRESTLE_ADMIN_TOKEN", "t")][..], "must be `http://"),
        ] {
            let error = check(file, flags, set).unwrap_err();
            assert!(error.contains(wanted) && !error.contains("of-"), "{flags:?} {set:?}: {error}");
        }
    }
}
