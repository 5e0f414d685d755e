//! Reads the numbers of checked JSON.

/// The value of a number that is whole, not negative and fits; exact, also with a fraction of zeros or an exponent.
pub(super) fn u64(number: &[u8]) -> Option<u64> {
    // So many digits always fit.
    if number.len() < 20 && !number.is_empty() && number.iter().all(u8::is_ascii_digit) {
        return Some(number.iter().fold(0, |value, digit| value * 10 + u64::from(digit - b'0')));
    }
    let text = str::from_utf8(number).ok()?;
    let (negative, text) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    if !whole.bytes().chain(fraction.bytes()).all(|digit| digit.is_ascii_digit()) || whole.is_empty() {
        return None;
    }
    let digits = || whole.bytes().chain(fraction.bytes());
    let count = whole.len() + fraction.len();
    let zeros = digits().rev().take_while(|&digit| digit == b'0').count();
    if zeros == count {
        return Some(0);
    }
    // the value is the digits without the zeros at their end, times this power of ten
    let exponent: i64 = exponent.parse().ok()?;
    let power = exponent.checked_add(zeros as i64)?.checked_sub(fraction.len() as i64)?;
    let scale = 10u64.checked_pow(u32::try_from(power).ok()?)?;
    let value = digits()
        .take(count - zeros)
        .try_fold(0u64, |value, digit| value.checked_mul(10)?.checked_add(u64::from(digit - b'0')))?;
    value.checked_mul(scale).filter(|_| !negative)
}

/// The nearest value of a number, if it is finite.
pub(super) fn f64(number: &[u8]) -> Option<f64> {
    if !matches!(number.first(), Some(b'-' | b'0'..=b'9')) {
        return None;
    }
    str::from_utf8(number).ok()?.parse().ok().filter(|value: &f64| value.is_finite())
}
