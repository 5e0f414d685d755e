//! A small authority for meshes that have none: certificates for nodes, in the layout that they read.

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, date_time_ymd,
};
use std::{
    fs::{self, DirBuilder, File, OpenOptions},
    io::{self, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::{Path, PathBuf},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

const AUTHORITY: &str = "authority";
/// Ten years: nodes' certificates are renewed, the authority is not.
const AUTHORITY_DAYS: u32 = 3652;
/// Clocks of other machines may be behind.
const EARLIER: Duration = Duration::from_secs(3600);
const DAY_SECS: u64 = 24 * 3600;
const NODES_MAX: usize = 64;
const NAME_BYTES_MAX: usize = 63;
/// A hundred years.
const DAYS_MAX: u32 = 36_525;

/// Why no certificates were made.
#[derive(Debug, thiserror::Error)]
pub enum InitTlsError {
    /// Nothing is overwritten.
    #[error("{0} is there already and is not overwritten: remove it, or name other nodes")]
    Exists(PathBuf),
    /// It names a folder and a certificate.
    #[error(
        "`{0}` cannot be the name of a node here: 1 to {NAME_BYTES_MAX} letters, digits, `-` and `.`, not `{AUTHORITY}`, no `.` in front"
    )]
    Name(String),
    /// None or too many nodes, or days.
    #[error("name 1 to {NODES_MAX} nodes, each once, and 1 to {DAYS_MAX} days")]
    Amount,
    /// The file system refuses.
    #[error("{0} cannot be written or read: {1}")]
    Io(PathBuf, #[source] io::Error),
    /// The name of the mesh, or an authority that was there, cannot be used.
    #[error("no certificate can be made: {0}")]
    Certificate(#[from] rcgen::Error),
}

/// What is made.
#[derive(Debug, Clone, Copy)]
pub struct InitTls<'a> {
    /// Where; a folder a node, and `authority`, whose key signs further nodes later and belongs on no node.
    pub folder: &'a Path,
    /// The name that certificates of this mesh have.
    pub mesh_name: &'a str,
    /// The nodes' names.
    pub nodes: &'a [String],
    /// How long their certificates are good.
    pub days: u32,
    /// The time now.
    pub now: SystemTime,
}

/// Makes an authority, if the folder has none yet, and for each node a folder with `tls.crt`, `tls.key` and `ca.crt`. Keys
/// are readable for their owner only. Returns the folders of the nodes.
///
/// # Errors
///
/// Something is there already, a name cannot be used, or the file system refuses. A folder is whole or not there.
pub fn init_tls(asked: InitTls<'_>) -> Result<Vec<PathBuf>, InitTlsError> {
    let mut names: Vec<&String> = asked.nodes.iter().collect();
    names.sort();
    names.dedup();
    let amount = 1..=NODES_MAX;
    if names.len() != asked.nodes.len()
        || !amount.contains(&names.len())
        || !(1..=DAYS_MAX).contains(&asked.days)
    {
        return Err(InitTlsError::Amount);
    }
    let mut folders = Vec::with_capacity(asked.nodes.len());
    for node in asked.nodes {
        if !is_name(node) {
            return Err(InitTlsError::Name(node.clone()));
        }
        let folder = asked.folder.join(node);
        if folder.exists() {
            return Err(InitTlsError::Exists(folder));
        }
        folders.push(folder);
    }
    let (issuer, authority) = authority(asked.folder, asked.now)?;
    for (node, folder) in asked.nodes.iter().zip(&folders) {
        let key = KeyPair::generate()?;
        let certificate = node_params(&asked, node)?.signed_by(&key, &issuer)?;
        write_folder(
            folder,
            &[
                ("tls.crt", 0o644, &certificate.pem()),
                ("tls.key", 0o600, &key.serialize_pem()),
                ("ca.crt", 0o644, &authority),
            ],
        )?;
    }
    Ok(folders)
}

fn is_name(node: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'.';
    !node.is_empty()
        && node.len() <= NAME_BYTES_MAX
        && !node.starts_with('.')
        && node != AUTHORITY
        && node.bytes().all(allowed)
}

fn node_params(asked: &InitTls<'_>, node: &str) -> Result<CertificateParams, rcgen::Error> {
    let mut params = CertificateParams::new([asked.mesh_name.to_owned()])?;
    params.distinguished_name.push(DnType::CommonName, node);
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages =
        vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
    params.use_authority_key_identifier_extension = true;
    valid(&mut params, asked.now, asked.days);
    Ok(params)
}

/// The same each time but for the dates: what signs later must have the name that it had.
fn authority_params(now: SystemTime) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, "Trestle mesh authority");
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    valid(&mut params, now, AUTHORITY_DAYS);
    params
}

fn valid(params: &mut CertificateParams, now: SystemTime, days: u32) {
    let since = now.duration_since(UNIX_EPOCH).unwrap_or_default();
    let from = date_time_ymd(1970, 1, 1) + since.saturating_sub(EARLIER);
    params.not_before = from;
    params.not_after = from + EARLIER + Duration::from_secs(u64::from(days) * DAY_SECS);
}

/// The authority that is there, or a new one, and its certificate.
fn authority(folder: &Path, now: SystemTime) -> Result<(Issuer<'static, KeyPair>, String), InitTlsError> {
    let folder = folder.join(AUTHORITY);
    let params = authority_params(now);
    if folder.exists() {
        let read = |name: &str| {
            let path = folder.join(name);
            fs::read_to_string(&path).map_err(|error| InitTlsError::Io(path, error))
        };
        let key = KeyPair::from_pem(&read("ca.key")?)?;
        return Ok((Issuer::new(params, key), read("ca.crt")?));
    }
    let key = KeyPair::generate()?;
    let certificate = params.self_signed(&key)?.pem();
    write_folder(&folder, &[("ca.crt", 0o644, &certificate), ("ca.key", 0o600, &key.serialize_pem())])?;
    Ok((Issuer::new(params, key), certificate))
}

/// Writes files beside their place and moves all of them there at once.
fn write_folder(folder: &Path, files: &[(&str, u32, &str)]) -> Result<(), InitTlsError> {
    // No node has such a name.
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    let partial = folder.with_file_name(format!(".{name}.partial"));
    let write = || {
        match fs::remove_dir_all(&partial) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => DirBuilder::new().recursive(true).mode(0o700).create(&partial)?,
        }
        for (name, mode, content) in files {
            let mut options = OpenOptions::new();
            let mut file = options.write(true).create_new(true).mode(*mode).open(partial.join(name))?;
            file.write_all(content.as_bytes())?;
            file.sync_all()?;
        }
        File::open(&partial)?.sync_all()?;
        fs::rename(&partial, folder)?;
        folder.parent().map_or(Ok(()), |parent| File::open(parent)?.sync_all())
    };
    write().map_err(|error| InitTlsError::Io(folder.to_owned(), error))
}
