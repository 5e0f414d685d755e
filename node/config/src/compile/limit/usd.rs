//! Amounts of US dollars as whole nano-USD.

use crate::Usd;

/// Nano-USD of a dollar.
const NANO: u64 = 1_000_000_000;
/// How many decimals a dollar has here.
const DECIMALS: usize = 9;
/// The most: a thousand million dollars. Sums of them stay far from what 64 bits hold.
const USD_MAX: u64 = 1_000_000_000;
/// How many digits of a number that was read as a floating one are surely those that were written.
const DIGITS_MAX: usize = 15;

/// The amount in nano-USD, or what is wrong with it.
pub(super) fn nano(usd: &Usd) -> Result<u64, &'static str> {
    match usd {
        Usd::Text(text) => decimal(text),
        Usd::Number(number) => {
            if let Some(whole) = number.as_u64() {
                return bounded(whole, 0);
            }
            // The shortest text that is read as this number is what was written, if that was short enough.
            let text = number.as_f64().map(|number| number.to_string()).unwrap_or_default();
            let digits = text.bytes().filter(u8::is_ascii_digit).count();
            let amount = decimal(&text)?;
            match digits > DIGITS_MAX {
                false => Ok(amount),
                true => Err("has more digits than a number holds exactly; write it in quotes"),
            }
        }
    }
}

fn decimal(text: &str) -> Result<u64, &'static str> {
    if text.starts_with('-') {
        return Err("must not be negative");
    }
    let (whole, part) = text.split_once('.').unwrap_or((text, "0"));
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    if !digits(whole) || !digits(part) {
        return Err("is no amount of US dollars; write it as `12.50`");
    }
    let part = part.trim_end_matches('0');
    if part.len() > DECIMALS {
        return Err("has more than nine decimals");
    }
    let nano = format!("{part:0<DECIMALS$}").parse().unwrap_or(0);
    // Digits alone that are no number are too many of them.
    bounded(whole.parse().unwrap_or(u64::MAX), nano)
}

fn bounded(usd: u64, nano: u64) -> Result<u64, &'static str> {
    let total = usd.checked_mul(NANO).and_then(|whole| whole.checked_add(nano));
    total.filter(|total| *total <= USD_MAX * NANO).ok_or("is more than 1,000,000,000, the most there is")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_exact_or_refused() {
        let check = |json: &str, expected: Result<u64, &str>| {
            let read = nano(&serde_json::from_str(json).unwrap());
            match (read, expected) {
                (Err(why), Err(start)) => assert!(why.starts_with(start), "{json}: {why}"),
                (read, expected) => assert_eq!(read, expected, "{json}"),
            }
        };
        for (json, nano) in [
            ("0", 0),
            ("0.0", 0),
            ("-0.0", 0),
            ("500", 500_000_000_000),
            ("0.1", 100_000_000),
            ("12.5", 12_500_000_000),
            ("1e-9", 1),
            ("0.000000001", 1),
            ("123456.123456789", 123_456_123_456_789),
            ("1000000000", 1_000_000_000_000_000_000),
            ("1e9", 1_000_000_000_000_000_000),
            ("\"0.10\"", 100_000_000),
            ("\"007\"", 7_000_000_000),
            ("\"999999999.999999999\"", 999_999_999_999_999_999),
            ("\"1.0000000000000\"", 1_000_000_000),
        ] {
            if json.starts_with('-') {
                check(json, Err("must not be negative"));
            } else {
                check(json, Ok(nano));
            }
        }
        for json in ["-1", "-0.01", "\"-5\"", "-1e300"] {
            check(json, Err("must not be negative"));
        }
        for json in
            ["\"\"", "\".5\"", "\"5.\"", "\"1e3\"", "\"+1\"", "\" 1\"", "\"1,000\"", "\"NaN\"", "\"$5\""]
        {
            check(json, Err("is no amount"));
        }
        for json in ["0.0000000001", "\"0.0000000001\"", "1e-300"] {
            check(json, Err("has more than nine decimals"));
        }
        for json in [
            "1000000001",
            "1e10",
            "1e300",
            "18446744073709551615",
            "\"1000000000.000000001\"",
            "\"99999999999999999999999\"",
        ] {
            check(json, Err("is more than 1,000,000,000"));
        }
        check("1234567.123456789", Err("has more digits"));
    }
}
