//! What must hold for any bytes as an event stream: nothing lost, the same events however it is cut, and by the
//! letter of the standard.
#![allow(clippy::expect_used)] // a panic here is a failed check

use bytes::Bytes;
use trestle_dialect::{
    Framing,
    frame::{Error, Event},
    sse::Reader,
};

/// Behind the last byte of this value stand the sizes of the chunks.
const SIZES_MARK: u8 = 0xff;

type Plain = (Vec<u8>, Vec<u8>, Option<Vec<u8>>);

/// Checks a stream, and sizes of chunks behind it, which are taken in turn; one byte each if there are none.
pub(crate) fn check(data: &[u8]) {
    let mark = data.iter().rposition(|&byte| byte == SIZES_MARK);
    let (stream, sizes) = mark.map_or((data, &[1][..]), |at| (&data[..at], &data[at + 1..]));
    let chunks = cut(stream, sizes);
    let whole = feed(&[Bytes::copy_from_slice(stream)], usize::MAX).expect("no bound");
    let parts = feed(&chunks, usize::MAX).expect("no bound");
    let input = stream.strip_prefix(b"\xef\xbb\xbf").unwrap_or(stream);
    for (blocks, last) in [&whole, &parts] {
        let fed = blocks.concat();
        let completed = [&fed[..], last].concat();
        assert!(completed.starts_with(input));
        assert!(matches!(&completed[input.len()..], b"" | b"\n" | b"\n\n"));
        assert!(completed.is_empty() || ends_with_event(last) || last.is_empty());
        assert_eq!(events(&completed).map(|event| event.raw).collect::<Vec<_>>().concat(), completed);
    }
    let expected = plain(&whole);
    assert_eq!(plain(&parts), expected);
    let by_standard: Vec<_> =
        expected.iter().filter_map(|(_, name, data)| Some((name.clone(), data.clone()?))).collect();
    assert_eq!(by_standard, dispatch(&[input, b"\n\n"].concat()));
    // how much of a line end belongs to an event may depend on the chunks only there
    if !stream.windows(2).any(|pair| pair == b"\r\r") {
        let longest = sizes.iter().map(|&size| usize::from(size)).sum();
        let fits = |chunks: &[Bytes]| feed(chunks, longest).is_ok();
        assert_eq!(fits(&chunks), fits(&[Bytes::copy_from_slice(stream)]), "bound {longest}");
    }
}

fn cut(stream: &[u8], sizes: &[u8]) -> Vec<Bytes> {
    let mut chunks = Vec::new();
    let mut rest = Bytes::copy_from_slice(stream);
    let mut sizes = sizes.iter().cycle();
    while !rest.is_empty() {
        // an empty chunk now and then, and always progress
        let size = sizes.next().map_or(1, |&size| usize::from(size));
        if size == 0 {
            chunks.push(Bytes::new());
        }
        chunks.push(rest.split_to(size.clamp(1, rest.len())));
    }
    chunks
}

/// The blocks, and what is left at the end.
fn feed(chunks: &[Bytes], event_bytes_max: usize) -> Result<(Vec<Bytes>, Bytes), Error> {
    let mut reader = Reader::new(event_bytes_max);
    let mut blocks = Vec::new();
    for chunk in chunks {
        let block = reader.feed(chunk.clone())?;
        assert!(block.is_empty() || ends_with_event(&block));
        blocks.push(block);
    }
    let last = reader.finish();
    assert!(reader.finish().is_empty());
    Ok((blocks, last))
}

fn events(block: &[u8]) -> impl Iterator<Item = Event<'_>> {
    Framing::Sse.events(block)
}

fn ends_with_event(block: &[u8]) -> bool {
    let last = events(block).last().map_or(&b""[..], |event| event.raw);
    matches!(last, [b'\n'] | [b'\r'] | b"\r\n")
        || [&b"\n\n"[..], b"\r\r", b"\n\r", b"\r\r\n", b"\n\r\n"].iter().any(|end| last.ends_with(end))
}

/// All events but blank lines, without their line ends: an LF alone may stand apart from the CR before it.
fn plain((blocks, last): &(Vec<Bytes>, Bytes)) -> Vec<Plain> {
    let ends = |raw: &[u8]| raw.iter().rev().take_while(|&&byte| matches!(byte, b'\n' | b'\r')).count();
    let plain = |event: Event<'_>| {
        let raw = event.raw[..event.raw.len() - ends(event.raw)].to_vec();
        (raw, event.name.to_vec(), event.data.map(|data| data.into_owned()))
    };
    let all = blocks.iter().chain([last]).flat_map(|block| events(block).map(plain).collect::<Vec<_>>());
    all.filter(|(raw, _, _)| !raw.is_empty()).collect()
}

/// Name and data of each event that has data, by the steps of the standard (`Interpreting an event stream`), but
/// that data of one empty line counts.
fn dispatch(stream: &[u8]) -> Vec<(Vec<u8>, Vec<u8>)> {
    let (mut found, mut name, mut lines) = (Vec::new(), Vec::new(), Vec::<Vec<u8>>::new());
    let mut line = Vec::new();
    let mut bytes = stream.iter().copied().peekable();
    while let Some(byte) = bytes.next() {
        if byte == b'\r' && bytes.peek() == Some(&b'\n') {
            bytes.next();
        } else if byte != b'\r' && byte != b'\n' {
            line.push(byte);
            continue;
        }
        let line = std::mem::take(&mut line);
        if line.is_empty() {
            let (name, lines) = (std::mem::take(&mut name), std::mem::take(&mut lines));
            if !lines.is_empty() {
                found.push((name, lines.join(&b'\n')));
            }
            continue;
        }
        let colon = line.iter().position(|&byte| byte == b':');
        let value = colon.map_or(&b""[..], |colon| &line[colon + 1..]);
        let value = value.strip_prefix(b" ").unwrap_or(value).to_vec();
        match &line[..colon.unwrap_or(line.len())] {
            b"data" => lines.push(value),
            b"event" => name = value,
            _ => {}
        }
    }
    found
}
