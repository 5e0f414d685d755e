//! From where a caller may ask, with which headers, and at which providers.

use crate::Caller;
use http::{HeaderName, HeaderValue};
use std::{net::IpAddr, sync::Arc};

/// From where a caller may ask, with which headers, and at which providers. Nothing is set mostly, which costs nothing.
#[derive(Debug, Clone, Default)]
pub struct Access {
    /// The providers that it may use; all, where there are none.
    pub providers: Arc<[Box<str>]>,
    /// The addresses that it may ask from; all, where there are none.
    pub networks: Arc<[Network]>,
    /// The headers that its requests must have.
    pub headers: Arc<[RequiredHeader]>,
}

/// Addresses that have their first bits in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Network {
    /// The first of them.
    first: IpAddr,
    /// How many bits they have in common.
    bits: u8,
}

/// A header that a request must have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequiredHeader {
    /// Its name.
    pub name: HeaderName,
    /// Its value; any, where there is none.
    pub value: Option<HeaderValue>,
}

impl Caller {
    /// Whether it may ask from an address.
    pub fn allows_address(&self, address: IpAddr) -> bool {
        self.access.networks.is_empty()
            || self.access.networks.iter().any(|network| network.contains(address))
    }

    /// The first header that a request must have and has not, with the value that is wanted. `lookup` gives the value of a
    /// header.
    pub fn lacks_header<'v>(&self, lookup: &dyn Fn(&HeaderName) -> Option<&'v [u8]>) -> Option<&HeaderName> {
        let lacks = |header: &&RequiredHeader| match (lookup(&header.name), &header.value) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(has), Some(wanted)) => has != wanted.as_bytes(),
        };
        self.access.headers.iter().find(lacks).map(|header| &header.name)
    }

    /// Whether it may use a provider.
    pub fn allows_provider(&self, name: &str) -> bool {
        self.access.providers.is_empty() || self.access.providers.iter().any(|provider| **provider == *name)
    }
}

impl Network {
    /// Reads an address, or one with the number of bits that others have in common with it: `10.0.0.0/8`. What is behind
    /// those bits must be 0. An error is public text.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        const FORM: &str = "is no address and no network; write `10.1.2.3`, `10.0.0.0/8` or `2001:db8::/32`";
        let (address, bits) = text.split_once('/').map_or((text, None), |(first, bits)| (first, Some(bits)));
        let first: IpAddr = address.parse().map_err(|_| FORM)?;
        if first.to_canonical() != first {
            return Err("is an IPv4 address written as one of IPv6; write it as IPv4");
        }
        let most = if first.is_ipv4() { 32 } else { 128 };
        let bits = match bits {
            None => most,
            // What `parse` takes beside digits, such as a sign, is no number of bits.
            Some(bits) if bits.bytes().all(|b| b.is_ascii_digit()) => bits.parse().map_err(|_| FORM)?,
            Some(_) => return Err(FORM),
        };
        let network = Self { first, bits };
        if bits > most {
            return Err("has more bits than such an address; at most 32 for IPv4 and 128 for IPv6");
        }
        match network.beginning(first) == number(first) {
            true => Ok(network),
            false => Err("has bits set behind those in common; write the first address of the network"),
        }
    }

    /// Whether an address is one of them; one of IPv4 that comes as IPv6 (`::ffff:10.1.2.3`) is taken as what it is.
    pub fn contains(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        address.is_ipv4() == self.first.is_ipv4() && self.beginning(address) == number(self.first)
    }

    /// The address as a number, with 0 behind the bits in common.
    fn beginning(&self, address: IpAddr) -> u128 {
        let width = if address.is_ipv4() { 32 } else { 128 };
        let behind = width - u32::from(self.bits).min(width);
        number(address).checked_shr(behind).and_then(|head| head.checked_shl(behind)).unwrap_or(0)
    }
}

fn number(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => u32::from(address).into(),
        IpAddr::V6(address) => address.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_hold_their_addresses_alone() {
        for (network, inside, outside) in [
            ("10.0.0.0/8", "10.255.255.255", "11.0.0.0"),
            ("10.0.0.0/8", "::ffff:10.1.2.3", "::10.1.2.3"),
            ("10.1.2.3", "10.1.2.3", "10.1.2.2"),
            ("10.1.2.2/31", "10.1.2.3", "10.1.2.4"),
            ("0.0.0.0/0", "255.1.2.3", "::1"),
            ("::/0", "ffff::1", "10.1.2.3"),
            ("2001:db8::/32", "2001:db8:ffff::1", "2001:db9::"),
            ("::1", "::1", "::2"),
            ("::1/128", "::1", "0.0.0.1"),
        ] {
            let read = Network::parse(network).unwrap();
            assert!(read.contains(inside.parse().unwrap()), "{network} {inside}");
            assert!(!read.contains(outside.parse().unwrap()), "{network} {outside}");
        }
    }

    #[test]
    fn what_is_no_network_is_refused() {
        for (text, why) in [
            ("", "is no address"),
            ("example.com", "is no address"),
            ("10.0.0.0/", "is no address"),
            ("10.0.0.0/+8", "is no address"),
            ("10.0.0.0/8/8", "is no address"),
            ("10.0.0.0/999", "is no address"),
            ("10.0.0/8", "is no address"),
            ("10.0.0.0/33", "has more bits"),
            ("::/129", "has more bits"),
            ("10.1.0.0/8", "has bits set"),
            ("2001:db8::1/32", "has bits set"),
            ("::ffff:10.0.0.0/104", "is an IPv4 address written"),
        ] {
            let refused = Network::parse(text).unwrap_err();
            assert!(refused.starts_with(why), "{text}: {refused}");
        }
    }

    #[test]
    fn nothing_set_allows_everything() {
        let caller = Caller::default();
        assert!(caller.allows_address("10.1.2.3".parse().unwrap()));
        assert!(caller.allows_provider("openai"));
        assert_eq!(caller.lacks_header(&|_| None), None);
    }

    #[test]
    fn what_is_set_must_be_met() {
        let header = |name, value: Option<&'static str>| RequiredHeader {
            name: HeaderName::from_static(name),
            value: value.map(HeaderValue::from_static),
        };
        let access = Access {
            providers: [Box::from("openai")].into(),
            networks: ["10.0.0.0/8", "2001:db8::/32"].map(|text| Network::parse(text).unwrap()).into(),
            headers: [header("x-app", None), header("x-stage", Some("live"))].into(),
        };
        let caller = Caller { access, ..Caller::default() };
        for (address, allowed) in [("10.9.9.9", true), ("2001:db8::9", true), ("192.168.0.1", false)] {
            assert_eq!(caller.allows_address(address.parse().unwrap()), allowed, "{address}");
        }
        assert!(caller.allows_provider("openai") && !caller.allows_provider("openai2"));
        for (sent, lacks) in [
            (&[][..], Some("x-app")),
            (&[("x-stage", "live")], Some("x-app")),
            (&[("x-app", "any")], Some("x-stage")),
            (&[("x-app", "any"), ("x-stage", "test")], Some("x-stage")),
            (&[("x-app", ""), ("x-stage", "live")], None),
        ] {
            let values: Vec<_> =
                sent.iter().map(|(name, value)| (*name, HeaderValue::from_static(value))).collect();
            let lookup = |name: &HeaderName| {
                values.iter().find(|(other, _)| name == other).map(|(_, value)| value.as_bytes())
            };
            assert_eq!(caller.lacks_header(&lookup).map(HeaderName::as_str), lacks, "{sent:?}");
        }
    }
}
