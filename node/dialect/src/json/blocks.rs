//! Finds the end of a string 64 bytes at a time: one bit mask for each question about a block, and no restart at
//! an escape. Generic over the instructions that answer the questions.

/// What may follow a backslash.
const ESCAPES: [u8; 9] = *b"\"\\/bfnrtu";

const HEX_DIGITS: [u8; 22] = *b"0123456789abcdefABCDEF";

/// The questions about 64 bytes. Bit n of a mask is about byte n.
pub(super) trait Lanes: Copy {
    /// Sixty-four bytes in registers.
    type Block: Copy;
    fn load(self, bytes: &[u8; 64]) -> Self::Block;
    /// Whether there is a quote, a backslash or a control character.
    fn stops(self, block: Self::Block) -> bool;
    /// Which bytes are one of these.
    fn any_of<const N: usize>(self, block: Self::Block, bytes: [u8; N]) -> u64;
    /// Which bytes are below the space.
    fn control(self, block: Self::Block) -> u64;
}

/// What a block says about the string that goes on in it.
enum Found {
    /// Nothing: it goes on.
    Nothing,
    /// Its closing quote, at this place in the block.
    End(u32),
    /// It is not valid.
    Fault,
}

/// The offset behind the closing quote of the string whose inside goes on at `start`, which no backslash precedes;
/// `None` if it has no end, a control character or an escape that is not valid.
#[inline(always)]
pub(super) fn checked_end(lanes: impl Lanes, bytes: &[u8], start: usize) -> Option<usize> {
    let (blocks, rest) = bytes.get(start..)?.as_chunks();
    let mut at = start;
    let mut carry = false;
    for block in blocks {
        match check(lanes, block, &bytes[at..], &mut carry) {
            Found::Nothing => at += 64,
            Found::End(end) => return Some(at + end as usize + 1),
            Found::Fault => return None,
        }
    }
    match check(lanes, &tail(rest), rest, &mut carry) {
        Found::End(end) => Some(at + end as usize + 1),
        Found::Nothing | Found::Fault => None,
    }
}

/// The same for a string that was checked before: looks only for its end.
#[inline(always)]
pub(super) fn end(lanes: impl Lanes, bytes: &[u8], start: usize) -> Option<usize> {
    let (blocks, rest) = bytes.get(start..)?.as_chunks();
    let mut at = start;
    let mut carry = false;
    for block in blocks {
        if let Some(end) = quote(lanes, block, &mut carry) {
            return Some(at + end as usize + 1);
        }
        at += 64;
    }
    quote(lanes, &tail(rest), &mut carry).map(|end| at + end as usize + 1)
}

/// The last bytes as a block, filled up with zeros, which are control characters.
#[inline(always)]
fn tail(rest: &[u8]) -> [u8; 64] {
    let mut tail = [0; 64];
    tail[..rest.len()].copy_from_slice(rest);
    tail
}

/// Checks a block, with which `bytes` begin. `carry`: the first byte is escaped.
#[inline(always)]
fn check(lanes: impl Lanes, block: &[u8; 64], bytes: &[u8], carry: &mut bool) -> Found {
    let block = lanes.load(block);
    if !*carry && !lanes.stops(block) {
        return Found::Nothing;
    }
    let (escaped, next) = escaped(lanes.any_of(block, *b"\\"), *carry);
    *carry = next;
    let quotes = lanes.any_of(block, *b"\"") & !escaped;
    // all bits below the first quote; all of them if there is none
    let inside = quotes.wrapping_sub(1) & !quotes;
    let escaped = escaped & inside;
    if lanes.control(block) & inside != 0
        || (escaped != 0 && !escapes_are_valid(lanes, block, escaped, bytes))
    {
        return Found::Fault;
    }
    if quotes == 0 { Found::Nothing } else { Found::End(quotes.trailing_zeros()) }
}

/// Where the first quote in a block is that is not escaped.
#[inline(always)]
fn quote(lanes: impl Lanes, block: &[u8; 64], carry: &mut bool) -> Option<u32> {
    let block = lanes.load(block);
    if !*carry && !lanes.stops(block) {
        return None;
    }
    let (escaped, next) = escaped(lanes.any_of(block, *b"\\"), *carry);
    *carry = next;
    let quotes = lanes.any_of(block, *b"\"") & !escaped;
    (quotes != 0).then(|| quotes.trailing_zeros())
}

/// Whether the escaped bytes of a block, with which `bytes` begin, make valid escapes.
#[inline(always)]
fn escapes_are_valid<L: Lanes>(lanes: L, block: L::Block, escaped: u64, bytes: &[u8]) -> bool {
    if escaped & !lanes.any_of(block, ESCAPES) != 0 {
        return false;
    }
    let units = escaped & lanes.any_of(block, *b"u");
    if units == 0 {
        return true;
    }
    let digits = units << 1 | units << 2 | units << 3 | units << 4;
    if digits & !lanes.any_of(block, HEX_DIGITS) != 0 {
        return false;
    }
    // digits in the next block are looked at one by one
    let last = units >> 60;
    if last == 0 {
        return true;
    }
    let first_digit = 60 + last.trailing_zeros() as usize + 1;
    bytes.get(first_digit..first_digit + 4).is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
}

/// Which bytes a backslash escapes, and whether the last one escapes the first byte of the next block.
///
/// In a run of backslashes the first one escapes the second, the third the fourth, and so on, so what counts is on
/// which bits, even or odd, a run begins and ends; a subtraction lets that ripple through all runs at once. Taken
/// from simdjson (`json_escape_scanner`), where it is explained bit by bit.
#[inline(always)]
pub(super) fn escaped(backslashes: u64, carry: bool) -> (u64, bool) {
    const ODD: u64 = 0xaaaa_aaaa_aaaa_aaaa;
    let carry = u64::from(carry);
    let escaping = backslashes & !carry;
    // the backslashes that escape, and the first byte behind each run of an odd length
    let codes = ((escaping << 1) | ODD).wrapping_sub(escaping) ^ ODD;
    (codes ^ (backslashes | carry), (codes & backslashes) >> 63 == 1)
}

#[cfg(test)]
mod tests;
