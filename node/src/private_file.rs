//! Small files that only their owner may read: read with suspicion, written whole or not at all.

use anyhow::{Context, bail};
use rustix::process::geteuid;
use std::{
    fs::{self, DirBuilder, File, OpenOptions},
    io::{Read, Write},
    os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt},
    path::Path,
};

const BYTES_MAX: u64 = 64 * 1024;

/// The text of the file; `None` if there is none. Refused if others may read it: a secret in it is none any more.
/// A group may read what belongs to root: so Kubernetes mounts secrets for processes that are not root.
pub(crate) fn read(path: &Path) -> anyhow::Result<Option<String>> {
    let shown = path.display();
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error).with_context(|| format!("cannot read {shown}")),
    };
    let metadata = file.metadata().with_context(|| format!("cannot read {shown}"))?;
    if !metadata.is_file() {
        bail!("{shown} is not a file: remove it");
    }
    let mode = metadata.permissions().mode() & 0o777;
    if mode & open_to_others(metadata.uid(), geteuid().as_raw()) != 0 {
        bail!("others may read {shown} (mode {mode:04o}): `chmod 600` it, or delete it for a new key");
    }
    let mut text = String::new();
    file.take(BYTES_MAX)
        .read_to_string(&mut text)
        .with_context(|| format!("{shown} is damaged: delete it for a new key"))?;
    Ok(Some(text))
}

/// The bits that let more than its owner read or write a file, by its owner and whose process this is.
fn open_to_others(owner: u32, own: u32) -> u32 {
    if owner == 0 && own != 0 { 0o037 } else { 0o077 }
}

/// Writes beside the file, then renames over it: a reader sees the old or the new text, never a part.
pub(crate) fn write(path: &Path, text: impl AsRef<[u8]>) -> anyhow::Result<()> {
    let attempt = || -> std::io::Result<()> {
        let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        let beside = path.with_extension(format!("tmp-{}", std::process::id()));
        // A leftover of a killed process with our number would make `create_new` fail for ever.
        let _ = fs::remove_file(&beside);
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&beside)?;
        file.write_all(text.as_ref())?;
        file.sync_all()?;
        fs::rename(&beside, path)?;
        File::open(folder)?.sync_all()
    };
    attempt().with_context(|| format!("cannot write {}", path.display()))
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::PermissionsExt};

    #[test]
    fn what_is_written_is_read_and_private() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deeper/state.json");
        assert_eq!(super::read(&path).unwrap(), None);
        super::write(&path, "one").unwrap();
        super::write(&path, "two").unwrap();
        assert_eq!(super::read(&path).unwrap().as_deref(), Some("two"));
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1, "nothing is left beside it");
    }

    #[test]
    fn a_file_that_others_may_read_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state.json");
        super::write(&path, "secret").unwrap();
        for mode in [0o640, 0o604, 0o620] {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            let error = format!("{:#}", super::read(&path).unwrap_err());
            assert!(error.contains("chmod 600") && !error.contains("secret"), "{error}");
        }
    }

    #[test]
    fn a_group_may_read_what_belongs_to_root() {
        let is_refused = |mode: u32, owner, own| mode & super::open_to_others(owner, own) != 0;
        assert!(!is_refused(0o440, 0, 65_532) && !is_refused(0o640, 0, 65_532), "a mounted secret");
        for mode in [0o444, 0o460, 0o450] {
            assert!(is_refused(mode, 0, 65_532), "{mode:o}");
        }
        assert!(is_refused(0o440, 65_532, 65_532), "our own file");
        assert!(is_refused(0o440, 0, 0), "a file of root, for root");
        assert!(is_refused(0o440, 1_000, 65_532), "a file of somebody else");
    }
}
