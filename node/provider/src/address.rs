//! Which network addresses a provider may never have, and which are inside a private network.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Link-local and cloud metadata addresses (and what is no host at all): refused for every provider, always.
pub fn is_forbidden_address(address: IpAddr) -> bool {
    // Amazon's and Google's metadata services.
    const METADATA_V6: [Ipv6Addr; 2] = [
        Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254),
        Ipv6Addr::new(0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254),
    ];
    // Alibaba's and Oracle's metadata services and Azure's wire server are outside of the link-local range.
    const METADATA_V4: [Ipv4Addr; 3] =
        [Ipv4Addr::new(100, 100, 100, 200), Ipv4Addr::new(192, 0, 0, 192), Ipv4Addr::new(168, 63, 129, 16)];
    match unmapped(address) {
        IpAddr::V4(v4) => {
            v4.is_link_local()
                || METADATA_V4.contains(&v4)
                || v4.octets()[0] == 0
                || v4.is_broadcast()
                || v4.is_multicast()
        }
        IpAddr::V6(v6) => {
            v6.is_unicast_link_local()
                || METADATA_V6.contains(&v6)
                || v6.is_unspecified()
                || v6.is_multicast()
        }
    }
}

/// Loopback, private (RFC 1918, RFC 4193) and shared (RFC 6598) addresses.
pub fn is_private_address(address: IpAddr) -> bool {
    match unmapped(address) {
        IpAddr::V4(v4) => {
            let [a, b, ..] = v4.octets();
            v4.is_loopback() || v4.is_private() || (a == 100 && b & 0xc0 == 64)
        }
        IpAddr::V6(v6) => v6.is_loopback() || v6.is_unique_local(),
    }
}

/// The IPv4 address inside of a mapped (`::ffff:a.b.c.d`) or translated (`64:ff9b::a.b.c.d`, RFC 6052) IPv6 one.
fn unmapped(address: IpAddr) -> IpAddr {
    let IpAddr::V6(v6) = address else { return address };
    match v6.segments() {
        [0, 0, 0, 0, 0, 0xffff, a, b] | [0x64, 0xff9b, 0, 0, 0, 0, a, b] => {
            IpAddr::V4(Ipv4Addr::from((u32::from(a) << 16) | u32::from(b)))
        }
        _ => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_told_apart() {
        let check = |text: &str, forbidden: bool, private: bool| {
            let address: IpAddr = text.parse().unwrap();
            assert_eq!(
                (is_forbidden_address(address), is_private_address(address)),
                (forbidden, private),
                "{text}"
            );
        };
        check("169.254.169.254", true, false);
        check("::ffff:169.254.169.254", true, false);
        check("64:ff9b::a9fe:a9fe", true, false);
        check("fe80::1", true, false);
        check("fd00:ec2::254", true, true);
        check("fd20:ce::254", true, true);
        check("100.100.100.200", true, true);
        check("192.0.0.192", true, false);
        check("168.63.129.16", true, false);
        check("0.0.0.0", true, false);
        check("::", true, false);
        check("127.0.0.1", false, true);
        check("::1", false, true);
        check("10.1.2.3", false, true);
        check("::ffff:10.1.2.3", false, true);
        check("192.168.0.1", false, true);
        check("172.16.0.1", false, true);
        check("100.64.0.1", false, true);
        check("fd12::1", false, true);
        check("1.1.1.1", false, false);
        check("172.32.0.1", false, false);
        check("2606:4700::1111", false, false);
    }
}
