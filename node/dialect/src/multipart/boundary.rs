//! What the header of a form says.

use super::{Error, head::parameters};

/// Longest boundary (RFC 2046, section 5.1.1).
const BOUNDARY_MAX: usize = 70;

/// Whether a content type is that of a form.
pub fn is_form(content_type: &[u8]) -> bool {
    let media_type = content_type.split(|byte| *byte == b';').next().unwrap_or_default();
    media_type.trim_ascii().eq_ignore_ascii_case(b"multipart/form-data")
}

/// The boundary that a content type names.
pub(super) fn boundary(content_type: &[u8]) -> Result<Box<[u8]>, Error> {
    let mut found = None;
    let behind = content_type.iter().position(|byte| *byte == b';').ok_or(Error::Boundary)?;
    for parameter in parameters(&content_type[behind..]) {
        let (name, value) = parameter.map_err(|_| Error::Boundary)?;
        if name.eq_ignore_ascii_case(b"boundary*") {
            return Err(Error::Boundary);
        }
        if name.eq_ignore_ascii_case(b"boundary") && found.replace(value).is_some() {
            return Err(Error::Boundary);
        }
    }
    let boundary = found.ok_or(Error::Boundary)?;
    let good = (1..=BOUNDARY_MAX).contains(&boundary.len())
        && boundary.iter().all(|byte| byte.is_ascii_alphanumeric() || b"'()+_,-./:=? ".contains(byte))
        && boundary.last() != Some(&b' ');
    if good { Ok(boundary.into()) } else { Err(Error::Boundary) }
}
