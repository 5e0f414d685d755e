//! What operators set as one file, and a new cluster that begins with it. A backup holds entities and their history. It does
//! not hold who the nodes were: what is restored is another cluster, of one node, to which others are added.

use super::{
    apply::Head,
    disk::{Disk, DiskError},
    folder::{Folder, OpenError},
    handle::Consensus,
    kept_cluster,
    log_store::LogStore,
    look::ReadError,
    record,
    records_file::Kind,
    start::Pace,
    state_machine::StateMachine,
    types::{LogId, Membership, Node, NodeId},
    version::Mismatch,
};
use crate::mesh::ClusterId;
use openraft::CommittedLeaderId;
use serde::{Deserialize, Serialize};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs::{self, File},
    io,
    path::{Path, PathBuf},
};

/// The first record says where it is from.
const KIND: Kind = Kind { title: b"trestle backup 1\n", first: b"backup" };
/// All that is restored is as if one entry had made it. Others get it as a snapshot, for that entry is nobody's to read.
const TERM: u64 = 1;
const INDEX: u64 = 1;

/// Where a backup is from.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Origin {
    /// 32 hex digits; empty if the node was of no cluster.
    cluster: String,
    node: NodeId,
    head: Head,
}

/// Why there is no backup.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    /// Something is there already.
    #[error("{0} is there already: name a file that is not")]
    Exists(PathBuf),
    /// The data cannot be read, or the file cannot be written.
    #[error("{0} cannot be written: {1}")]
    Failed(PathBuf, #[source] ReadError),
}

/// Why nothing is restored.
#[derive(Debug, thiserror::Error)]
pub enum RestoreError {
    /// The folder has data.
    #[error("{0} has data of a node already: name another folder")]
    Exists(PathBuf),
    /// The backup is damaged, or none, or cannot be read.
    #[error("{0} cannot be restored from: {1}")]
    Backup(PathBuf, String),
    /// The folder cannot be used.
    #[error(transparent)]
    Folder(#[from] OpenError),
}

/// What was restored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Restored {
    /// The new node.
    pub node: NodeId,
    /// The new cluster.
    pub cluster: ClusterId,
    /// The last revision.
    pub revision: u64,
}

/// The trees that are in a backup.
fn trees(disk: &Disk) -> [(&'static str, &sled::Tree); 3] {
    [("entities", &disk.entities), ("revisions", &disk.revisions), ("values", &disk.values)]
}

impl Consensus {
    /// Writes what is in effect here to a file that is whole or not there; the revision that it is of. Changes wait meanwhile.
    ///
    /// # Errors
    ///
    /// The file is there already or cannot be written, or the data cannot be read.
    pub async fn backup(&self, to: &Path) -> Result<u64, BackupError> {
        let (consensus, to) = (self.clone(), to.to_owned());
        let path = to.clone();
        let failed = move |error: DiskError| BackupError::Failed(path.clone(), ReadError::from(error));
        let writing = tokio::task::spawn_blocking({
            let failed = failed.clone();
            move || {
                if to.try_exists().map_err(|error| failed(error.into()))? {
                    return Err(BackupError::Exists(to));
                }
                consensus.write_backup(&to).map_err(failed)
            }
        });
        writing.await.map_err(|error| failed(io::Error::other(error).into()))?
    }

    fn write_backup(&self, to: &Path) -> Result<u64, DiskError> {
        let beside = to.with_added_extension("tmp");
        let cluster = self.identity.cluster().map(|cluster| cluster.to_string()).unwrap_or_default();
        let revision = self.machine.look(|disk, head| {
            let origin = Origin { cluster, node: self.node(), head: head.clone() };
            KIND.write(&beside, &record::write_json(&origin)?, |out| {
                for (name, tree) in trees(disk) {
                    disk.walk(tree, |key, value| Ok(out.record(name.as_bytes(), key, value)?))?;
                }
                Ok(())
            })?;
            Ok(head.revision)
        })?;
        fs::rename(&beside, to)?;
        let folder = to.parent().filter(|folder| !folder.as_os_str().is_empty());
        File::open(folder.unwrap_or(Path::new(".")))?.sync_all()?;
        Ok(revision)
    }
}

/// Makes a folder of a new node, alone in a new cluster, that begins with what a backup holds. It is whole or not there.
///
/// # Errors
///
/// The folder has data already or cannot be used, or the backup is damaged.
pub async fn restore(backup: &Path, folder: &Path) -> Result<Restored, RestoreError> {
    let (backup, folder) = (backup.to_owned(), folder.to_owned());
    let at = folder.clone();
    let restoring = tokio::task::spawn_blocking(move || restore_now(&backup, &folder));
    let interrupted = |error| OpenError::Refused(at, io::Error::other(error));
    restoring.await.map_err(interrupted)?
}

fn restore_now(backup: &Path, path: &Path) -> Result<Restored, RestoreError> {
    let unreadable = |error: DiskError| RestoreError::Backup(backup.to_owned(), error.to_string());
    // All of it is checked before anything is made.
    let origin: Origin = KIND
        .visit(backup, |_| Ok(()))
        .and_then(|first| Ok(record::read_json(&first)?))
        .map_err(unreadable)?;
    // What a later program wrote is not for this one.
    Mismatch::of(Consensus::VERSION, origin.head.version()).map_err(|error| unreadable(error.into()))?;
    let cluster = kept_cluster::mint().map_err(|error| unreadable(error.into()))?;
    let making = Folder::make(path, |folder| {
        KIND.visit(backup, |record| {
            let named = |(name, _): &(&str, &sled::Tree)| name.as_bytes() == record.tree;
            let unknown = || io::Error::other("it has a part that this version does not know");
            let (_, tree) = trees(&folder.disk).into_iter().find(named).ok_or_else(unknown)?;
            tree.insert(&record.key[..], &record.value[..])?;
            Ok(())
        })?;
        begin(folder, &origin.head)?;
        Ok(folder.cluster.write(cluster)?)
    });
    match making? {
        Some(folder) => Ok(Restored { node: folder.node, cluster, revision: origin.head.revision }),
        None => Err(RestoreError::Exists(path.to_owned())),
    }
}

/// A log and a state machine as if this node had led a cluster of one, and had made a snapshot.
fn begin(folder: &Folder, head: &Head) -> Result<(), DiskError> {
    let node = folder.node;
    let log_id = LogId::new(CommittedLeaderId::new(TERM, node), INDEX);
    let voters = vec![BTreeSet::from([node])];
    let members = openraft::Membership::new(voters, BTreeMap::from([(node, Node::default())]));
    let machine =
        StateMachine::new(folder.disk.clone(), folder.snapshots.clone(), Pace::default().revisions_kept)?;
    machine.begin_with(head, log_id, &Membership::new(Some(log_id), members))?;
    LogStore::new(folder.disk.clone()).begin_after(log_id)?;
    machine.snapshot()?;
    folder.disk.sync()
}
