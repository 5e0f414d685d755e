//! Where credentials may be asked for: services of vendors over TLS, and metadata services beside this process.

use crate::url::Base;
use http::Uri;
use std::net::{IpAddr, Ipv6Addr};

/// Hosts of container endpoints, as Amazon's own libraries take them beside loopback: ECS, and EKS Pod Identity.
const CONTAINER: [IpAddr; 3] = [
    IpAddr::V4(std::net::Ipv4Addr::new(169, 254, 170, 2)),
    IpAddr::V4(std::net::Ipv4Addr::new(169, 254, 170, 23)),
    IpAddr::V6(Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x23)),
];
/// The metadata service of an instance over IPv6.
const INSTANCE_V6: Ipv6Addr = Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254);

/// Whether a URL can be that of a service that an operator names: TLS, or loopback.
pub fn check_service(url: &str) -> Result<(), &'static str> {
    let origin = Base::parse(url)?.origin;
    let loopback = match origin.host.parse::<IpAddr>() {
        Ok(address) => address.is_loopback(),
        Err(_) => &*origin.host == "localhost",
    };
    if origin.tls || loopback { Ok(()) } else { Err("must begin with `https://`, or be a loopback address") }
}

/// Whether a URL can be that of a container's endpoint: `AWS_CONTAINER_CREDENTIALS_FULL_URI` may name no other.
pub fn check_container(url: &str) -> Result<(), &'static str> {
    match host(url)? {
        Host::Loopback => Ok(()),
        Host::Address(address) if CONTAINER.contains(&address) => Ok(()),
        _ => Err("must be a loopback address, 169.254.170.2, 169.254.170.23 or [fd00:ec2::23]"),
    }
}

/// Whether a URL can be that of a metadata service: loopback, link-local, or Google's name for it.
pub fn check_metadata(url: &str) -> Result<(), &'static str> {
    let fine = match host(url)? {
        Host::Loopback => true,
        Host::Address(IpAddr::V4(address)) => address.is_link_local(),
        Host::Address(IpAddr::V6(address)) => address.is_unicast_link_local() || address == INSTANCE_V6,
        Host::Name(name) => name == "metadata.google.internal",
    };
    if fine { Ok(()) } else { Err("must be a loopback or link-local address") }
}

enum Host {
    Loopback,
    Address(IpAddr),
    Name(String),
}

fn host(url: &str) -> Result<Host, &'static str> {
    let uri: Uri = url.parse().map_err(|_| "is not a URL")?;
    if !matches!(uri.scheme_str(), Some("http" | "https"))
        || uri.authority().is_none_or(|a| a.as_str().contains('@'))
    {
        return Err("is not a URL that begins with `http://`");
    }
    let host = uri.host().unwrap_or_default().to_ascii_lowercase();
    match host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>() {
        Ok(address) if address.is_loopback() => Ok(Host::Loopback),
        Ok(address) => Ok(Host::Address(address)),
        Err(_) if host == "localhost" => Ok(Host::Loopback),
        Err(_) => Ok(Host::Name(host)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_place_has_its_hosts() {
        for (url, service, container, metadata) in [
            ("https://sts.eu-west-1.amazonaws.com", true, false, false),
            ("http://sts.eu-west-1.amazonaws.com", false, false, false),
            ("http://127.0.0.1:8080/x", true, true, true),
            ("http://localhost:1", true, true, true),
            ("http://[::1]:1/", true, true, true),
            ("http://169.254.170.2/v2", false, true, true),
            ("http://169.254.170.23/v1/credentials", false, true, true),
            ("http://[fd00:ec2::23]/v1/credentials", false, true, false),
            ("http://169.254.169.254", false, false, true),
            ("https://169.254.169.254", false, false, true),
            ("http://[fd00:ec2::254]", false, false, true),
            ("http://metadata.google.internal", false, false, true),
            ("http://10.0.0.1/", false, false, false),
            ("http://169.254.170.2@evil.example/", false, false, false),
            ("http://127.0.0.1.evil.example/", false, false, false),
            ("file:///etc/passwd", false, false, false),
            ("nonsense", false, false, false),
        ] {
            let found =
                (check_service(url).is_ok(), check_container(url).is_ok(), check_metadata(url).is_ok());
            assert_eq!(found, (service, container, metadata), "{url}");
        }
    }
}
