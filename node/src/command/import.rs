//! `trestle import`: a document out of the configuration of another gateway.

use super::{failure::Done, print};
use crate::{
    files::{self, DOCUMENT_BYTES_MAX},
    private_file,
};
use anyhow::{Context, anyhow};
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    process::ExitCode,
};
use trestle_config::{
    Problems, dump,
    import::{Imported, Note, bifrost, litellm},
    to_yaml,
};

/// Make a document of the configuration of another gateway.
///
/// Notes say what has no equivalent, what is written otherwise, and what to do. Secrets in clear stay as they are.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  trestle import bifrost config.json > gateway.yaml
  trestle import litellm config.yaml -o gateway.yaml
  trestle check gateway.yaml")]
pub(super) struct Import {
    #[command(subcommand)]
    from: From,
}

#[derive(Debug, clap::Subcommand)]
enum From {
    /// Read the config.json of Bifrost.
    ///
    /// Exit status: 0 a document was made, with notes or without; 1 the file cannot be read as one.
    #[command(after_help = "\
Examples:
  trestle import bifrost config.json > gateway.yaml
  trestle import bifrost config.json -o gateway.yaml 2> notes.txt")]
    Bifrost(Files),
    /// Read the config.yaml of LiteLLM.
    ///
    /// Exit status: 0 a document was made, with notes or without; 1 the file cannot be read as one.
    #[command(after_help = "\
Examples:
  trestle import litellm config.yaml > gateway.yaml
  trestle import litellm config.yaml -o gateway.yaml 2> notes.txt")]
    Litellm(Files),
}

#[derive(Debug, clap::Args)]
struct Files {
    /// The other gateway's file.
    file: PathBuf,
    /// Where the document goes, for its owner alone [default: stdout].
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

impl Import {
    pub(super) fn run(self) -> Done {
        match self.from {
            From::Bifrost(files) => files.import(bifrost),
            From::Litellm(files) => files.import(litellm),
        }
    }
}

impl Files {
    fn import(self, read: fn(&str) -> Result<Imported, Problems>) -> Done {
        let shown = self.file.display();
        let text = files::text(&self.file, DOCUMENT_BYTES_MAX);
        let text = text.with_context(|| format!("cannot read {shown}"))?;
        let of_file = |problems| anyhow!("{shown} is not as expected:\n{problems}");
        let Imported { document, notes } = read(&text).map_err(of_file)?;
        let yaml = to_yaml(&dump(&document).map_err(|problems| anyhow!("{problems}"))?);
        eprint!("{}", grouped(&notes));
        match &self.output {
            Some(path) => write(path, &yaml)?,
            None => print::out(&yaml)?,
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// For its owner alone: there may be secrets in it.
fn write(path: &Path, yaml: &str) -> anyhow::Result<()> {
    private_file::write(path, yaml)
}

/// The notes by what they say, with all places of which it is said: many members have the same fate.
fn grouped(notes: &[Note]) -> String {
    let mut places: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let mut order = Vec::new();
    for note in notes {
        let of_message = places.entry(&note.message).or_insert_with(|| {
            order.push(note.message.as_str());
            Vec::new()
        });
        of_message.push(&note.path);
    }
    let mut text = String::new();
    for message in order {
        match places.get(message).map(Vec::as_slice) {
            Some([only]) => text.push_str(&format!("note: {only}: {message}\n")),
            Some(several) => {
                text.push_str(&format!("note: {message}:\n"));
                several.iter().for_each(|path| text.push_str(&format!("  {path}\n")));
            }
            None => {}
        }
    }
    print::plain(&text)
}
