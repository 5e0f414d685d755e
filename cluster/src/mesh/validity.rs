//! When a certificate ends: what a TLS library checks and does not tell.

use rustls::pki_types::CertificateDer;
use std::time::{Duration, SystemTime};
use yasna::{ASN1Result, BERReader, BERReaderSeq, Tag, tags::TAG_UTCTIME};

/// Serial number, algorithm and issuer.
const BEFORE_VALIDITY: usize = 3;

/// The `notAfter` of a certificate (RFC 5280, section 4.1); none of one that cannot be read.
pub fn certificate_end(certificate: &CertificateDer<'_>) -> Option<SystemTime> {
    let signed = |reader: &mut BERReaderSeq<'_, '_>| {
        reader.read_optional(|reader| reader.read_tagged(Tag::context(0), |reader| reader.read_der()))?;
        for _ in 0..BEFORE_VALIDITY {
            reader.next().read_der()?;
        }
        let end = reader.next().read_sequence(|reader| {
            reader.next().read_der()?;
            unix_seconds(reader.next())
        })?;
        pass_over(reader)?;
        Ok(end)
    };
    let end = yasna::parse_der(certificate, |reader| {
        reader.read_sequence(|reader| {
            let end = reader.next().read_sequence(signed)?;
            pass_over(reader)?;
            Ok(end)
        })
    });
    let seconds = u64::try_from(end.ok()?).ok()?;
    SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(seconds))
}

/// Years before 2050 are written with two digits.
fn unix_seconds(reader: BERReader<'_, '_>) -> ASN1Result<i64> {
    if reader.lookahead_tag()? == TAG_UTCTIME {
        return Ok(reader.read_utctime()?.datetime().unix_timestamp());
    }
    Ok(reader.read_generalized_time()?.datetime().unix_timestamp())
}

fn pass_over(reader: &mut BERReaderSeq<'_, '_>) -> ASN1Result<()> {
    while reader.read_optional(|reader| reader.read_der())?.is_some() {}
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use rcgen::{CertificateParams, KeyPair, date_time_ymd};

    #[test]
    fn the_end_is_read_from_both_kinds_of_time() {
        for (year, unix_seconds) in [(2031, 1_924_992_000), (2061, 2_871_763_200)] {
            let mut params = CertificateParams::new(["trestle.mesh".to_owned()]).unwrap();
            params.not_after = date_time_ymd(year, 1, 1);
            let certificate = params.self_signed(&KeyPair::generate().unwrap()).unwrap();
            let wanted = SystemTime::UNIX_EPOCH + Duration::from_secs(unix_seconds);
            assert_eq!(certificate_end(certificate.der()), Some(wanted), "{year}");
            let mut broken = certificate.der().to_vec();
            broken.truncate(broken.len() / 2);
            assert_eq!(certificate_end(&CertificateDer::from(broken)), None);
        }
    }
}
