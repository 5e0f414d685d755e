//! What commands print: results on stdout, all else on stderr.

use super::failure::Failure;
use anyhow::Context;
use serde_json::Value;
use std::io::{ErrorKind, IsTerminal, Write};

/// Whether to use colors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Paint {
    Plain,
    Color,
}

impl Paint {
    /// Colors are for people at a terminal who did not ask for none (<https://no-color.org>).
    pub(super) fn of_stdout() -> Self {
        let unwanted = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        if std::io::stdout().is_terminal() && !unwanted { Self::Color } else { Self::Plain }
    }
}

/// Prints a result.
pub(super) fn out(text: &str) -> Result<(), Failure> {
    write(text).map_err(|error| match error.kind() {
        ErrorKind::BrokenPipe => Failure::Closed,
        _ => Failure::Other(anyhow::Error::from(error).context("cannot write to stdout")),
    })
}

/// Prints a secret that is shown only now. `lost` says what to do where nobody can have read it.
pub(super) fn secret(secret: &str, lost: &str) -> Result<(), Failure> {
    Ok(write(&format!("{secret}\n")).with_context(|| format!("cannot write the secret to stdout: {lost}"))?)
}

/// Prints an answer of the API as it is.
pub(super) fn json(value: &Value) -> Result<(), Failure> {
    out(&format!("{value}\n"))
}

fn write(text: &str) -> std::io::Result<()> {
    let mut stdout = std::io::stdout().lock();
    stdout.write_all(text.as_bytes())?;
    stdout.flush()
}

/// Text of others without what would steer a terminal.
pub(super) fn plain(text: &str) -> String {
    let shown = |letter: char| match letter {
        '\n' | '\t' => letter,
        letter if letter.is_control() => char::REPLACEMENT_CHARACTER,
        letter => letter,
    };
    text.chars().map(shown).collect()
}
