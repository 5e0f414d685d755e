//! The head of a part: its name, and whether it is a file.

use super::Error;

/// Largest head of a part.
pub(super) const HEAD_BYTES_MAX: usize = 8 * 1024;

/// Reads the lines of a head, without the blank one: the name, and whether the part is a file.
pub(super) fn read(head: &[u8]) -> Result<(Box<str>, bool), Error> {
    let mut disposition = None;
    let mut rest = head;
    while !rest.is_empty() {
        let end = memchr::memmem::find(rest, b"\r\n").unwrap_or(rest.len());
        let line = &rest[..end];
        rest = rest.get(end + 2..).unwrap_or_default();
        if line.iter().any(|byte| matches!(byte, b'\r' | b'\n' | 0)) {
            return Err(Error::Head("has a line end or a zero inside of a line"));
        }
        // What is folded begins with a space, and some readers join it where others do not.
        let (name, value) = colon(line).ok_or(Error::Head("has a line that is no header"))?;
        if name.eq_ignore_ascii_case(b"content-disposition") && disposition.replace(value).is_some() {
            return Err(Error::Head("has two dispositions"));
        }
        let plain = [&b"7bit"[..], b"8bit", b"binary"];
        if name.eq_ignore_ascii_case(b"content-transfer-encoding")
            && !plain.iter().any(|plain| value.trim_ascii().eq_ignore_ascii_case(plain))
        {
            return Err(Error::Head("names a transfer encoding"));
        }
    }
    of_disposition(disposition.ok_or(Error::Head("has no content-disposition"))?)
}

fn colon(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let at = line.iter().position(|byte| *byte == b':')?;
    let name = &line[..at];
    (!name.is_empty() && name.iter().all(is_token)).then(|| (name, &line[at + 1..]))
}

fn is_token(byte: &u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(byte)
}

fn of_disposition(value: &[u8]) -> Result<(Box<str>, bool), Error> {
    let end = value.iter().position(|byte| *byte == b';').unwrap_or(value.len());
    if !value[..end].trim_ascii().eq_ignore_ascii_case(b"form-data") {
        return Err(Error::Head("is not of a form"));
    }
    let (mut name, mut file) = (None, false);
    for parameter in parameters(&value[end..]) {
        let (key, value) = parameter?;
        if key.eq_ignore_ascii_case(b"name*") {
            return Err(Error::Head("has an encoded name"));
        }
        file |= key.eq_ignore_ascii_case(b"filename") || key.eq_ignore_ascii_case(b"filename*");
        if key.eq_ignore_ascii_case(b"name") && name.replace(value).is_some() {
            return Err(Error::Head("has two names"));
        }
    }
    let name = name.filter(|name| !name.is_empty()).ok_or(Error::Head("has no name"))?;
    let name = std::str::from_utf8(name).ok().filter(|name| !name.contains(['"', '\\', '\r', '\n']));
    Ok((name.ok_or(Error::Head("has a name with a quote or that is not UTF-8"))?.into(), file))
}

type Parameter<'a> = (&'a [u8], &'a [u8]);

/// The parameters of a header, each behind its semicolon; escapes in quotes are left as they are.
pub(super) fn parameters(text: &[u8]) -> impl Iterator<Item = Result<Parameter<'_>, Error>> {
    let mut rest = text.trim_ascii();
    std::iter::from_fn(move || {
        let behind = rest.strip_prefix(b";")?.trim_ascii_start();
        rest = b"";
        if behind.is_empty() {
            return None;
        }
        Some(parameter(behind).map(|(parameter, behind)| {
            rest = behind;
            parameter
        }))
    })
}

/// The first parameter, and what is behind it: nothing, or the next semicolon.
fn parameter(text: &[u8]) -> Result<(Parameter<'_>, &[u8]), Error> {
    let bad = Error::Head("has a parameter that cannot be read");
    let (name, value) = text.split_at(text.iter().take_while(|byte| is_token(byte)).count());
    let value = value.strip_prefix(b"=").filter(|_| !name.is_empty()).ok_or(bad)?;
    let (value, behind) = match value.strip_prefix(b"\"") {
        Some(quoted) => in_quotes(quoted)?,
        None => {
            let plain = |byte: &&u8| byte.is_ascii_graphic() && !matches!(byte, b';' | b'"');
            value.split_at(value.iter().take_while(plain).count())
        }
    };
    let behind = behind.trim_ascii_start();
    if behind.first().is_some_and(|next| *next != b';') {
        return Err(bad);
    }
    Ok(((name, value), behind))
}

/// The text up to the closing quote, and what is behind it. A backslash may escape nothing: browsers write paths so.
fn in_quotes(quoted: &[u8]) -> Result<(&[u8], &[u8]), Error> {
    let (mut at, mut escaped) = (0, false);
    loop {
        match quoted.get(at..).unwrap_or_default() {
            [] => return Err(Error::Head("has a quote that does not end")),
            [b'"', ..] => break,
            [b'\\', b'"', ..] => (at, escaped) = (at + 2, true),
            [b'\\', b'\\', ..] => at += 2,
            _ => at += 1,
        }
    }
    // Not all readers know of escapes: for them the value would end there, and another parameter begin.
    if escaped && quoted[..at].contains(&b';') {
        return Err(Error::Head("has an escaped quote and a semicolon in one value"));
    }
    Ok((&quoted[..at], &quoted[at + 1..]))
}
