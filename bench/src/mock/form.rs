//! Reads `multipart/form-data` as strictly as a vendor: what is not by the grammar is an error.

/// A part of a form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Part<'b> {
    pub(crate) name: String,
    pub(crate) filename: Option<String>,
    pub(crate) media_type: Option<String>,
    pub(crate) content: &'b [u8],
}

/// Whether a content type is that of a form.
pub(crate) fn is_form(content_type: &str) -> bool {
    content_type.to_ascii_lowercase().starts_with("multipart/form-data")
}

/// The parts of a body.
///
/// # Errors
/// Says what is wrong.
pub(crate) fn parse<'b>(content_type: &str, body: &'b [u8]) -> Result<Vec<Part<'b>>, String> {
    let boundary = content_type
        .split(';')
        .find_map(|parameter| parameter.trim().strip_prefix("boundary="))
        .map(|boundary| boundary.trim_matches('"'))
        .filter(|boundary| !boundary.is_empty())
        .ok_or("no boundary in the content-type")?;
    let first = format!("--{boundary}");
    let next = format!("\r\n{first}");
    let mut rest = match body.strip_prefix(first.as_bytes()) {
        Some(rest) => rest,
        None => behind(body, &next).ok_or("no first boundary")?.1,
    };
    let mut parts = Vec::new();
    loop {
        if rest.starts_with(b"--") {
            return Ok(parts);
        }
        let line = rest.strip_prefix(b"\r\n").ok_or("a boundary is not followed by a line end")?;
        let (head, content) = behind(line, "\r\n\r\n").ok_or("a part without a blank line")?;
        let (content, after) = behind(content, &next).ok_or("no boundary behind a part")?;
        parts.push(part(std::str::from_utf8(head).map_err(|_| "a head is not UTF-8")?, content)?);
        rest = after;
    }
}

fn behind<'b>(bytes: &'b [u8], what: &str) -> Option<(&'b [u8], &'b [u8])> {
    let at = memchr::memmem::find(bytes, what.as_bytes())?;
    Some((&bytes[..at], &bytes[at + what.len()..]))
}

fn part<'b>(head: &str, content: &'b [u8]) -> Result<Part<'b>, String> {
    let header = |wanted: &str| {
        let mut lines = head.split("\r\n").filter_map(|line| line.split_once(':'));
        lines.find(|(name, _)| name.eq_ignore_ascii_case(wanted)).map(|(_, value)| value.trim().to_owned())
    };
    let disposition = header("content-disposition").ok_or("a part without content-disposition")?;
    let parameter = |name: &str| {
        let mut all = disposition.split(';').skip(1).map(str::trim);
        let value = all.find_map(|parameter| parameter.strip_prefix(name)?.strip_prefix('='))?;
        Some(value.trim_matches('"').to_owned())
    };
    if !disposition.starts_with("form-data") {
        return Err(format!("not a disposition of a form: {disposition}"));
    }
    Ok(Part {
        name: parameter("name").ok_or("a part without a name")?,
        filename: parameter("filename"),
        media_type: header("content-type"),
        content,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_found() {
        let body = b"--b\r\nContent-Disposition: form-data; name=\"model\"\r\n\r\nm\r\n--b\r\ncontent-disposition: form-data; name=\"file\"; filename=\"a.wav\"\r\nContent-Type: audio/wav\r\n\r\n--b\r\n\r\n--b--\r\n";
        let parts = parse("multipart/form-data; boundary=b", body).unwrap();
        assert_eq!((&*parts[0].name, parts[0].content), ("model", &b"m"[..]));
        assert_eq!(
            (parts[1].filename.as_deref(), parts[1].media_type.as_deref()),
            (Some("a.wav"), Some("audio/wav"))
        );
        assert_eq!(parts[1].content, b"--b\r\n");
        for bad in [&body[..body.len() - 6], b"--b\r\n\r\nx\r\n--b--", b"--bx\r\n--b--", b""] {
            assert!(parse("multipart/form-data; boundary=b", bad).is_err());
        }
    }
}
