//! Which addresses an upstream may have. Checked after name resolution, on every connect.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Why an address is refused; `None` if it may be used.
pub(crate) fn refused(address: IpAddr, private_allowed: bool) -> Option<&'static str> {
    match address.to_canonical() {
        IpAddr::V4(v4) if link_local_v4(v4) => Some("link-local and metadata addresses are never called"),
        IpAddr::V6(v6) if link_local_v6(v6) => Some("link-local and metadata addresses are never called"),
        other if !private_allowed && private(other) => Some(
            "the name resolves to a private address; set private_addresses for this provider if that is meant",
        ),
        _ => None,
    }
}

/// Link-local, the metadata services of clouds that are not link-local, unspecified and multicast addresses.
fn link_local_v4(address: Ipv4Addr) -> bool {
    const ALIBABA_METADATA: Ipv4Addr = Ipv4Addr::new(100, 100, 100, 200);
    const AZURE_WIRE_SERVER: Ipv4Addr = Ipv4Addr::new(168, 63, 129, 16);
    const ORACLE_METADATA: Ipv4Addr = Ipv4Addr::new(192, 0, 0, 192);
    address.is_link_local()
        || address.is_unspecified()
        || address.is_broadcast()
        || address.is_multicast()
        || [ALIBABA_METADATA, AZURE_WIRE_SERVER, ORACLE_METADATA].contains(&address)
}

fn link_local_v6(address: Ipv6Addr) -> bool {
    const AWS_METADATA: Ipv6Addr = Ipv6Addr::new(0xfd00, 0x0ec2, 0, 0, 0, 0, 0, 0x254);
    const GOOGLE_METADATA: Ipv6Addr = Ipv6Addr::new(0xfd20, 0x00ce, 0, 0, 0, 0, 0, 0x254);
    // An IPv4 address inside of a NAT64 prefix counts as that address.
    let nat64 = match address.segments() {
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => {
            link_local_v4(Ipv4Addr::from((u32::from(high) << 16) | u32::from(low)))
        }
        _ => false,
    };
    nat64
        || address.is_unicast_link_local()
        || address.is_unspecified()
        || address.is_multicast()
        || [AWS_METADATA, GOOGLE_METADATA].contains(&address)
}

fn private(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => {
            v4.is_private() || v4.is_loopback() || matches!(v4.octets(), [100, 64..=127, ..] | [0, ..])
        }
        IpAddr::V6(v6) => v6.is_loopback() || v6.is_unique_local(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metadata_is_never_called_and_private_only_where_allowed() {
        for never in [
            "169.254.169.254",
            "169.254.170.2",
            "100.100.100.200",
            "168.63.129.16",
            "0.0.0.0",
            "::",
            "fe80::1",
            "fd00:ec2::254",
            "::ffff:169.254.169.254",
            "64:ff9b::a9fe:a9fe",
            "224.0.0.1",
        ] {
            assert!(refused(never.parse().unwrap(), true).is_some(), "{never}");
        }
        for private in [
            "127.0.0.1",
            "10.1.2.3",
            "172.16.0.1",
            "192.168.1.1",
            "100.64.0.1",
            "::1",
            "fd12::1",
            "::ffff:10.0.0.1",
        ] {
            assert!(refused(private.parse().unwrap(), false).is_some(), "{private}");
            assert!(refused(private.parse().unwrap(), true).is_none(), "{private}");
        }
        for public in ["1.1.1.1", "2606:4700::1111"] {
            assert!(refused(public.parse().unwrap(), false).is_none(), "{public}");
        }
    }
}
