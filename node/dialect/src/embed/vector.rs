//! Vectors as numbers and as base64 of 32-bit floats, the lowest byte first.

use crate::{
    ir::Json,
    json::{Kind, Raw, Writer},
};
use aws_smithy_types::base64;
use std::io::Write as _;

/// Numbers to base64; `None` where one is no number that such a float can hold.
pub(super) fn pack(numbers: &Json) -> Option<Json> {
    let raw = numbers.raw();
    // Most are written with about this many characters.
    let mut bytes = Vec::with_capacity(raw.bytes().len() / 2);
    for number in raw.elements() {
        bytes.extend_from_slice(&float(number)?.to_le_bytes());
    }
    let text = base64::encode(bytes);
    let mut out = Writer::with_capacity(text.len() + 2);
    out.string(&text);
    (raw.kind() == Kind::Array).then(|| Json::from_valid(out.finish().into()))
}

fn float(number: Raw<'_>) -> Option<f32> {
    if number.kind() != Kind::Number {
        return None;
    }
    str::from_utf8(number.bytes()).ok()?.parse().ok().filter(|float: &f32| float.is_finite())
}

/// Base64 to the shortest numbers that mean the same floats; `None` where it is not base64 of such floats.
pub(super) fn unpack(text: &Json) -> Option<Json> {
    let bytes = base64::decode(text.raw().string()?).ok()?;
    let mut out = Vec::with_capacity(bytes.len() * 3);
    out.push(b'[');
    let (floats, []) = bytes.as_chunks::<4>() else { return None };
    for (i, float) in floats.iter().map(|bytes| f32::from_le_bytes(*bytes)).enumerate() {
        if !float.is_finite() {
            return None;
        }
        if i > 0 {
            out.push(b',');
        }
        write!(out, "{float:?}").ok()?;
    }
    out.push(b']');
    Some(Json::from_valid(out.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_are_one() {
        for (numbers, packed) in [
            ("[]", r#""""#),
            ("[1.0,-0.5]", r#""AACAPwAAAL8=""#),
            ("[0.1,-0.0,1e-10,3.4e38]", r#""zczMPQAAAID/5tsunsl/fw==""#),
        ] {
            let (numbers, packed) = (Json::fixed(numbers), Json::fixed(packed));
            assert_eq!(pack(&numbers), Some(packed.clone()), "{numbers:?}");
            assert_eq!(pack(&unpack(&packed).unwrap()), Some(packed), "{numbers:?}");
        }
        assert_eq!(unpack(&Json::fixed(r#""AACAPwAAAL8=""#)), Some(Json::fixed("[1.0,-0.5]")));
        assert_eq!(unpack(&Json::fixed(r#""AACAPw==""#)), Some(Json::fixed("[1.0]")));
        assert_eq!(pack(&Json::fixed("[ 1 , -5e-1 ]")), Some(Json::fixed(r#""AACAPwAAAL8=""#)));
    }

    #[test]
    fn what_is_no_vector_is_none() {
        for odd in [r#"["1"]"#, "[null]", "[1e39]", "[[1]]", "{}", "1", r#""AACAPw==""#] {
            assert_eq!(pack(&Json::fixed(odd)), None, "{odd}");
        }
        // Not base64, three bytes, NaN, infinite.
        for odd in [r#""!""#, r#""AAAA""#, r#""AADAfw==""#, r#""AACAfw==""#, "[1.0]", "null"] {
            assert_eq!(unpack(&Json::fixed(odd)), None, "{odd}");
        }
    }
}
