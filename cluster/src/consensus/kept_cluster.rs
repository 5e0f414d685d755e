//! The cluster's number in a node's folder: a file that is whole or not there. A node writes it once, before it says or hears
//! anything as a member; where it is being founded, a mark beside it says that nobody has heard the number yet.

use super::types::NodeId;
use crate::mesh::ClusterId;
use std::{
    fs::{self, File},
    io::{self, Write},
    path::{Path, PathBuf},
};

const NAME: &str = "cluster";
/// A line for the format, then 32 hex digits.
const FORMAT: &str = "1";
/// Is there from before the number is made until the members are in the log.
const FOUNDING: &str = "founding";

/// The place of the file.
#[derive(Debug, Clone)]
pub(super) struct KeptCluster {
    folder: PathBuf,
}

impl KeptCluster {
    /// In the folder of the data: it goes aside together with that.
    pub(super) fn new(data: &Path) -> Self {
        Self { folder: data.to_owned() }
    }

    /// The number, if there is one. What cannot be read is an error, never "none".
    pub(super) fn read(&self) -> io::Result<Option<ClusterId>> {
        let text = match fs::read_to_string(self.folder.join(NAME)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            read => read?,
        };
        let damaged = || io::Error::new(io::ErrorKind::InvalidData, "the cluster's number cannot be read");
        let (format, number) = text.trim_end().split_once('\n').ok_or_else(damaged)?;
        match format {
            FORMAT => Ok(Some(number.parse().map_err(|_| damaged())?)),
            _ => Err(damaged()),
        }
    }

    /// Keeps the number. It is on the disk when this returns.
    pub(super) fn write(&self, cluster: ClusterId) -> io::Result<()> {
        let beside = self.folder.join("cluster.tmp");
        let mut file = File::create(&beside)?;
        file.write_all(format!("{FORMAT}\n{cluster}\n").as_bytes())?;
        file.sync_all()?;
        fs::rename(&beside, self.folder.join(NAME))?;
        self.sync()
    }

    /// A number is about to be made that nobody else has heard of, until `founded`.
    pub(super) fn founding(&self) -> io::Result<()> {
        File::create(self.folder.join(FOUNDING))?.sync_all()?;
        self.sync()
    }

    /// The members are in the log: others may hear of it.
    pub(super) fn founded(&self) -> io::Result<()> {
        remove(&self.folder.join(FOUNDING))?;
        self.sync()
    }

    /// Ends a founding that was interrupted before the members were in the log, as if it had never begun.
    pub(super) fn forget_founding(&self) -> io::Result<()> {
        if self.folder.join(FOUNDING).try_exists()? {
            remove(&self.folder.join(NAME))?;
            self.sync()?;
            self.founded()?;
        }
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        File::open(&self.folder)?.sync_all()
    }
}

fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// A number that no other cluster has.
pub(super) fn mint() -> io::Result<ClusterId> {
    let mut random = [0; 16];
    getrandom::fill(&mut random).map_err(io::Error::other)?;
    Ok(ClusterId(u128::from_be_bytes(random)))
}

/// A number that no other node has. Zero stands for nobody.
pub(super) fn mint_node() -> io::Result<NodeId> {
    let mut random = [0; 8];
    getrandom::fill(&mut random).map_err(io::Error::other)?;
    Ok(NodeId::from_be_bytes(random).max(1))
}
