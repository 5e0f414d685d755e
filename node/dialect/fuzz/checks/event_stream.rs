//! What must hold for any bytes as a binary event stream: the same messages however it is cut, none that is damaged.
#![allow(clippy::expect_used)] // a panic here is a failed check

use bytes::Bytes;
use trestle_dialect::{Framing, frame};

/// Largest message; small, so that the bound is met.
const EVENT_BYTES_MAX: usize = 1 << 12;

/// Checks a stream. The first byte says whether the rest is the wire itself (if it is even) or messages to be made: then
/// two bytes are a place and one what is changed there. Three more are the sizes of the chunks, which are taken in turn.
pub(crate) fn check(data: &[u8]) {
    let Some(([mode, place @ .., change, a, b, c], rest)) = data.split_first_chunk::<7>() else { return };
    let sizes = [*a, *b, *c];
    if mode % 2 == 0 {
        same(rest, sizes);
        return;
    }
    let made: Vec<Made> = rest.split(|byte| *byte == b'\n').map(|line| Made::of(*mode, line)).collect();
    let wire: Vec<u8> = made.iter().flat_map(|made| made.message.clone()).collect();
    let read = same(&wire, sizes);
    let fits = made.iter().take_while(|made| made.message.len() <= EVENT_BYTES_MAX).count();
    assert_eq!(read.events, made[..fits]);
    assert_eq!(read.error.is_none(), fits == made.len());
    damaged(wire, usize::from(u16::from_be_bytes(*place)), *change, sizes, &made);
}

/// A stream with one byte changed: what is before the damage is read, and nothing of what is not as it was.
fn damaged(mut wire: Vec<u8>, place: usize, change: u8, sizes: [u8; 3], made: &[Made]) {
    let at = place % wire.len().max(1);
    let Some(byte) = wire.get_mut(at).filter(|_| change != 0) else { return };
    *byte ^= change;
    let read = same(&wire, sizes);
    let before = made.iter().scan(0, |end, made| {
        *end += made.message.len();
        Some(*end)
    });
    let whole = before.take_while(|end| *end <= at).count();
    let read: Vec<_> = read.events.iter().collect();
    assert!(read.len() <= whole, "a damaged message was accepted");
    assert!(read.iter().zip(made).all(|(read, made)| *read == made));
}

/// What a reader found.
#[derive(Debug, PartialEq, Eq)]
struct Read {
    events: Vec<Made>,
    error: Option<frame::Error>,
}

/// Reads the wire in one piece, in chunks and byte by byte: alike but for the messages that stand in one chunk with the
/// damage, which only the finer cut returns.
fn same(wire: &[u8], sizes: [u8; 3]) -> Read {
    let whole = read(&[wire.len()], wire);
    let parts = read(&sizes.map(|size| usize::from(size).max(1)), wire);
    let bytes = read(&[1], wire);
    for coarse in [&whole, &parts] {
        assert_eq!(coarse.error, bytes.error);
        assert!(bytes.events.starts_with(&coarse.events));
        assert!(coarse.error.is_some() || coarse.events.len() == bytes.events.len());
    }
    bytes
}

fn read(sizes: &[usize], wire: &[u8]) -> Read {
    let mut reader = Framing::EventStream.reader(EVENT_BYTES_MAX);
    let (mut rest, mut events, mut error) = (Bytes::copy_from_slice(wire), Vec::new(), None);
    let mut sizes = sizes.iter().cycle();
    while !rest.is_empty() && error.is_none() {
        let chunk = rest.split_to(sizes.next().map_or(1, |size| (*size).clamp(1, rest.len())));
        match reader.feed(chunk) {
            Err(what) => error = Some(what),
            Ok(block) => {
                let found: Vec<_> = Framing::EventStream.events(&block).collect();
                assert_eq!(found.iter().map(|event| event.raw).collect::<Vec<_>>().concat(), block);
                events.extend(found.iter().map(|event| Made {
                    message: event.raw.to_vec(),
                    name: event.name.to_vec(),
                    payload: event.data.as_deref().expect("a message has a payload").to_vec(),
                }));
            }
        }
    }
    assert!(reader.finish().is_empty());
    Read { events, error }
}

/// A message, and what it says.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Made {
    message: Vec<u8>,
    name: Vec<u8>,
    payload: Vec<u8>,
}

impl Made {
    /// From a line: its first letters are the name, the rest the payload. The mode says which other headers there are.
    fn of(mode: u8, line: &[u8]) -> Self {
        let letters = line.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
        let (name, payload) = (line[..letters].to_vec(), line[letters..].to_vec());
        let mut headers = Vec::new();
        let others: [(u8, &[u8]); 9] = [
            (0, b""),
            (1, b""),
            (2, b"b"),
            (3, b"sh"),
            (4, b"int3"),
            (5, b"longlong"),
            (6, b"\0\x02\xff\n"),
            (8, b"timetime"),
            (9, b"sixteen bytes..!"),
        ];
        for (bit, (kind, value)) in others.iter().enumerate() {
            if (mode >> 1) & (1 << (bit % 7)) != 0 {
                headers.extend([1, b'a', *kind]);
                headers.extend(*value);
            }
        }
        let title: &[u8] = if mode & 4 == 0 { b":event-type" } else { b":exception-type" };
        headers.push(u8::try_from(title.len()).expect("short"));
        headers.extend(title);
        headers.push(7);
        headers.extend(u16::try_from(name.len()).unwrap_or(u16::MAX).to_be_bytes());
        headers.extend(name.iter().take(usize::from(u16::MAX)));
        let length = 12 + headers.len() + payload.len() + 4;
        let mut message = Vec::with_capacity(length);
        message.extend(u32::try_from(length).expect("short").to_be_bytes());
        message.extend(u32::try_from(headers.len()).expect("short").to_be_bytes());
        message.extend(checksum(&message).to_be_bytes());
        message.extend(&headers);
        message.extend(&payload);
        message.extend(checksum(&message).to_be_bytes());
        Self { message, name, payload }
    }
}

/// CRC-32, bit by bit.
fn checksum(bytes: &[u8]) -> u32 {
    let mut sum = u32::MAX;
    for byte in bytes {
        sum ^= u32::from(*byte);
        for _ in 0..8 {
            sum = if sum & 1 == 1 { (sum >> 1) ^ 0xedb8_8320 } else { sum >> 1 };
        }
    }
    !sum
}
