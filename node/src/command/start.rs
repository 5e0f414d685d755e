//! What the commands that start a node have in common: secrets of the process itself.

use crate::{
    control::{Keyring, NodeSecrets, Role, TokenEntity},
    settings::Settings,
};
use anyhow::Context;
use trestle_config::{Secrets, hash_text};

/// The least that an admin token of an operator's own making may have.
const TOKEN_BYTES_MIN: usize = 20;

/// The keys that open sealed secrets.
pub(super) fn keyring(settings: &Settings) -> anyhow::Result<Keyring> {
    let now = settings.key_encryption_key.as_deref().map(read).transpose().context("key_encryption_key")?;
    let before = settings.key_encryption_key_previous.as_deref().map(read).transpose();
    let before = before.context("key_encryption_key_previous")?;
    Keyring::new(now.as_deref(), before.as_deref())
}

/// The admin token of the node settings.
pub(super) fn own_token(reference: &str) -> anyhow::Result<TokenEntity> {
    let token = read(reference).context("root_token")?;
    anyhow::ensure!(
        token.len() >= TOKEN_BYTES_MIN,
        "root_token: has {} bytes, at least {TOKEN_BYTES_MIN} are wanted; make one with `openssl rand -hex 32`",
        token.len()
    );
    Ok(TokenEntity::new(hash_text(&token), Role::Admin))
}

/// What a reference of the settings stands for.
fn read(reference: &str) -> anyhow::Result<String> {
    let secrets = NodeSecrets::unsealed();
    let read = match (reference.strip_prefix("env:"), reference.strip_prefix("file:")) {
        (Some(name), _) => secrets.env(name),
        (_, Some(path)) => secrets.file(path),
        // The settings let nothing else through.
        (None, None) => Err("is no reference".to_owned()),
    };
    read.map(|text| text.trim().to_owned()).map_err(anyhow::Error::msg)
}
