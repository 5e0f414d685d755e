//! Certificates for nodes that are not on loopback, in the layout that they read.

use std::path::Path;

use rcgen::{BasicConstraints, CertificateParams, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair};

/// Makes an authority and a folder for each node, with `tls.crt`, `tls.key` and `ca.crt`.
pub(super) fn certify(folder: &Path, nodes: usize) -> anyhow::Result<()> {
    let key = KeyPair::generate()?;
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    let authority = params.self_signed(&key)?.pem();
    let issuer = Issuer::new(params, key);
    for node in 0..nodes {
        let key = KeyPair::generate()?;
        let mut params = CertificateParams::new(["trestle.mesh".to_owned()])?;
        params.extended_key_usages =
            vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
        let certificate = params.signed_by(&key, &issuer)?.pem();
        let folder = folder.join(format!("tls-{node}"));
        std::fs::create_dir_all(&folder)?;
        std::fs::write(folder.join("tls.crt"), certificate)?;
        super::nodes::private(&folder.join("tls.key"), &key.serialize_pem())?;
        std::fs::write(folder.join("ca.crt"), &authority)?;
    }
    Ok(())
}
