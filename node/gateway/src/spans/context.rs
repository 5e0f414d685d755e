//! W3C Trace Context: <https://www.w3.org/TR/trace-context-2/>. What is not valid is taken for absent.

use crate::headers::Headers;

/// `version-trace-parent-flags`, as this version has it.
const LENGTH: usize = 55;
const SAMPLED: u8 = 1;
/// What vendors must be able to pass on; longer ones end here.
const STATE_MAX: usize = 512;
const MEMBERS_MAX: usize = 32;

/// Where in which trace a request comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Parent {
    pub(super) trace_id: u128,
    pub(super) span_id: u64,
    pub(super) sampled: bool,
}

/// What the headers say; none where there is no `traceparent`, several, or a wrong one.
pub(super) fn parent(headers: &Headers) -> Option<Parent> {
    match headers.get_all("traceparent")[..] {
        [value] => parse(value),
        _ => None,
    }
}

fn parse(value: &[u8]) -> Option<Parent> {
    let value = value.trim_ascii();
    let (head, rest) = value.split_at_checked(LENGTH)?;
    // Later versions may say more, behind another dash.
    let (version, known) = (hex(&head[..2])?, head.starts_with(b"00"));
    let is_complete = if known { rest.is_empty() } else { rest.is_empty() || rest.starts_with(b"-") };
    if version == 0xff || !is_complete || [2, 35, 52].iter().any(|at| head[*at] != b'-') {
        return None;
    }
    let (trace_id, span_id, flags) = (hex(&head[3..35])?, hex(&head[36..52])?, hex(&head[53..])?);
    if trace_id == 0 || span_id == 0 {
        return None;
    }
    Some(Parent { trace_id, span_id: span_id as u64, sampled: flags as u8 & SAMPLED != 0 })
}

/// Lower case only.
fn hex(digits: &[u8]) -> Option<u128> {
    digits.iter().try_fold(0, |number, digit| {
        let value = match digit {
            b'0'..=b'9' => digit - b'0',
            b'a'..=b'f' => digit - b'a' + 10,
            _ => return None,
        };
        Some(number << 4 | u128::from(value))
    })
}

/// `tracestate` of all its lines; none where it is wrong or longer than it has to be passed on. Only of use beside a parent.
pub(super) fn state(headers: &Headers) -> Option<Box<str>> {
    let lines = headers.get_all("tracestate");
    let mut joined = String::new();
    for line in &lines {
        let line = std::str::from_utf8(line).ok()?.trim_matches([' ', '\t']);
        if !joined.is_empty() && !line.is_empty() {
            joined.push(',');
        }
        joined.push_str(line);
    }
    let members = joined.split(',').map(|member| member.trim_matches([' ', '\t']));
    let members: Vec<_> = members.filter(|member| !member.is_empty()).collect();
    let mut keys: Vec<_> = members.iter().filter_map(|member| member.split('=').next()).collect();
    keys.sort_unstable();
    let is_twice = keys.windows(2).any(|pair| pair[0] == pair[1]);
    let is_wrong = is_twice || members.len() > MEMBERS_MAX || !members.iter().all(|member| is_member(member));
    (!members.is_empty() && !is_wrong && joined.len() <= STATE_MAX).then(|| joined.into())
}

/// `key=value` or `tenant@system=value`.
fn is_member(member: &str) -> bool {
    let Some((key, value)) = member.split_once('=') else { return false };
    let letter = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let within = |c: char| letter(c) || matches!(c, '_' | '-' | '*' | '/');
    let part =
        |part: &str, max: usize| part.len() <= max && part.starts_with(letter) && part.chars().all(within);
    let is_key = match key.split_once('@') {
        Some((tenant, system)) => part(tenant, 241) && part(system, 14),
        None => part(key, 256),
    };
    let is_value = (1..=256).contains(&value.len())
        && value.chars().all(|c| matches!(c, ' '..='~') && !matches!(c, ',' | '='))
        && !value.ends_with(' ');
    is_key && is_value
}

/// The header for whoever is called from a span.
pub(super) fn traceparent((trace_id, span_id): (u128, u64), sampled: bool) -> String {
    format!("00-{trace_id:032x}-{span_id:016x}-{:02x}", u8::from(sampled))
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::{HeaderMap, HeaderName, HeaderValue};

    fn headers(lines: &[(&'static str, &str)]) -> Headers {
        let lines = lines.iter();
        Headers::Map(HeaderMap::from_iter(
            lines.map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_str(value).unwrap())),
        ))
    }

    #[test]
    fn a_parent_is_taken_only_if_it_is_right() {
        let check = |value: &str, sampled: Option<bool>| {
            let wanted = sampled.map(|sampled| Parent {
                trace_id: 0x4bf9_2f35_77b3_4da6_a3ce_929d_0e0e_4736,
                span_id: 0x00f0_67aa_0ba9_02b7,
                sampled,
            });
            assert_eq!(parent(&headers(&[("traceparent", value)])), wanted, "{value}");
        };
        let ids = "4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7";
        check(&format!("00-{ids}-01"), Some(true));
        check(&format!("00-{ids}-00"), Some(false));
        check(&format!("00-{ids}-03"), Some(true));
        check(&format!("00-{ids}-02"), Some(false));
        check(&format!("cc-{ids}-01"), Some(true));
        check(&format!("cc-{ids}-01-what-comes"), Some(true));
        check(&format!("cc-{ids}-01.what"), None);
        check(&format!("00-{ids}-01-what"), None);
        check(&format!("ff-{ids}-01"), None);
        check(&format!("00-{ids}-0"), None);
        check(&format!("00-{ids}-0x"), None);
        check(&format!("00-{}-01", ids.to_uppercase()), None);
        check(&format!("00_{ids}-01"), None);
        check("00-00000000000000000000000000000000-00f067aa0ba902b7-01", None);
        check("00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01", None);
        check("", None);
        let twice = format!("00-{ids}-01");
        let map: HeaderMap = [twice.clone(), twice]
            .into_iter()
            .map(|value| (HeaderName::from_static("traceparent"), value.parse().unwrap()))
            .fold(HeaderMap::new(), |mut map, (name, value)| {
                map.append(name, value);
                map
            });
        assert_eq!(parent(&Headers::Map(map)), None);
    }

    #[test]
    fn a_state_is_passed_on_only_if_it_is_right() {
        let check = |value: &str, good: bool| {
            let wanted = good.then_some(value);
            assert_eq!(state(&headers(&[("tracestate", value)])).as_deref(), wanted, "{value}");
        };
        check("congo=t61rcWkgMzE,rojo=00f067aa0ba902b7", true);
        check("a=1, fw529a3039@dt=x y", true);
        check("a=1,,b=2", true);
        check("A=1", false);
        check("a", false);
        check("a=", false);
        check("a=1=2", false);
        check("a=1,a=2", false);
        check("", false);
        check(&format!("a={}", "x".repeat(256)), true);
        check(&format!("a={}", "x".repeat(257)), false);
        check(&format!("a={0},b={0},c={0}", "x".repeat(200)), false);
    }

    #[test]
    fn what_is_written_is_read() {
        let written = traceparent((7, 9), true);
        let read = parse(written.as_bytes());
        assert_eq!(read, Some(Parent { trace_id: 7, span_id: 9, sampled: true }), "{written}");
    }
}
