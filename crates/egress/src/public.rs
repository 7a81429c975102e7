//! Which addresses belong to the public network. Everything else may be the server's own network: what is not known to be
//! public is not.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Networks of IPv4 that are not public (IANA's registry of special purposes), as address and length of the prefix.
const SPECIAL_V4: [(Ipv4Addr, u32); 16] = [
    // This network; 0.0.0.0 reaches this machine.
    (Ipv4Addr::UNSPECIFIED, 8),
    (Ipv4Addr::new(10, 0, 0, 0), 8),
    // Carrier-grade NAT.
    (Ipv4Addr::new(100, 64, 0, 0), 10),
    (Ipv4Addr::new(127, 0, 0, 0), 8),
    // Link-local, with the metadata of cloud machines.
    (Ipv4Addr::new(169, 254, 0, 0), 16),
    (Ipv4Addr::new(172, 16, 0, 0), 12),
    (Ipv4Addr::new(192, 0, 0, 0), 24),
    (Ipv4Addr::new(192, 0, 2, 0), 24),
    // Relays of 6to4.
    (Ipv4Addr::new(192, 88, 99, 0), 24),
    (Ipv4Addr::new(192, 168, 0, 0), 16),
    // Benchmarks.
    (Ipv4Addr::new(198, 18, 0, 0), 15),
    (Ipv4Addr::new(198, 51, 100, 0), 24),
    (Ipv4Addr::new(203, 0, 113, 0), 24),
    // Multicast.
    (Ipv4Addr::new(224, 0, 0, 0), 4),
    // Reserved, and the broadcast address.
    (Ipv4Addr::new(240, 0, 0, 0), 4),
    // The metadata of one cloud's machines is at an address that looks public.
    (Ipv4Addr::new(168, 63, 129, 16), 32),
];

/// Networks within the global unicast addresses of IPv6 that are not public.
const SPECIAL_V6: [(Ipv6Addr, u32); 4] = [
    // Protocols, among them Teredo, which holds an address of IPv4.
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 23),
    (Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0), 32),
    // 6to4 holds an address of IPv4.
    (Ipv6Addr::new(0x2002, 0, 0, 0, 0, 0, 0, 0), 16),
    (Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0), 20),
];

/// Global unicast. Loopback, unspecified, IPv4-mapped, unique-local, link-local and multicast addresses are outside.
const GLOBAL_V6: (Ipv6Addr, u32) = (Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 0), 3);
/// Where a network without IPv4 reaches IPv4: the address is the last four bytes.
const NAT64: (Ipv6Addr, u32) = (Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, 0, 0), 96);

/// Whether an address belongs to the public network.
pub(crate) fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => !SPECIAL_V4.iter().any(|(network, bits)| within_v4(address, *network, *bits)),
        IpAddr::V6(address) if within_v6(address, NAT64.0, NAT64.1) => {
            let [.., a, b, c, d] = address.octets();
            is_public(Ipv4Addr::new(a, b, c, d).into())
        }
        IpAddr::V6(address) => {
            within_v6(address, GLOBAL_V6.0, GLOBAL_V6.1)
                && !SPECIAL_V6.iter().any(|(network, bits)| within_v6(address, *network, *bits))
        }
    }
}

/// Whether the first `bits` bits of both addresses are the same.
pub(crate) fn within_v4(address: Ipv4Addr, network: Ipv4Addr, bits: u32) -> bool {
    (address.to_bits() ^ network.to_bits()).leading_zeros() >= bits
}

/// See [`within_v4`].
pub(crate) fn within_v6(address: Ipv6Addr, network: Ipv6Addr, bits: u32) -> bool {
    (address.to_bits() ^ network.to_bits()).leading_zeros() >= bits
}

#[cfg(test)]
mod tests {
    use super::*;

    fn public(text: &str) -> bool {
        is_public(text.parse().unwrap())
    }

    /// F-39, SEC-07
    #[test]
    fn each_network_that_is_not_public_is_known_from_its_first_to_its_last_address() {
        for (first, last) in [
            ("0.0.0.0", "0.255.255.255"),
            ("10.0.0.0", "10.255.255.255"),
            ("100.64.0.0", "100.127.255.255"),
            ("127.0.0.0", "127.255.255.255"),
            ("169.254.0.0", "169.254.255.255"),
            ("172.16.0.0", "172.31.255.255"),
            ("192.168.0.0", "192.168.255.255"),
            ("198.18.0.0", "198.19.255.255"),
            ("168.63.129.16", "168.63.129.16"),
        ] {
            assert!(!public(first) && !public(last), "{first} to {last}");
            let bits = |text: &str| text.parse::<Ipv4Addr>().unwrap().to_bits();
            let next = Ipv4Addr::from_bits(bits(last) + 1);
            assert!(is_public(next.into()), "{next}");
            if let Some(before) = bits(first).checked_sub(1) {
                assert!(is_public(Ipv4Addr::from_bits(before).into()), "before {first}");
            }
        }
        assert!(public("223.255.255.255") && !public("224.0.0.0") && !public("255.255.255.255"));
    }

    /// F-39
    #[test]
    fn an_address_of_ipv6_is_public_only_where_the_public_network_is() {
        for inside in [
            "::",
            "::1",
            "::ffff:127.0.0.1",
            "::ffff:8.8.8.8",
            "::127.0.0.1",
            "64:ff9b::10.0.0.1",
            "64:ff9b::169.254.169.254",
            "64:ff9b:1::1",
            "100::1",
            "2001::1",
            "2001:db8::1",
            "2002:7f00:1::",
            "3fff::1",
            "4000::1",
            "fc00::1",
            "fd00:ec2::254",
            "fe80::1",
            "fec0::1",
            "ff02::1",
        ] {
            assert!(!public(inside), "{inside}");
        }
        for outside in ["2606:4700::1111", "2a00:1450:4001::1", "64:ff9b::8.8.8.8", "8.8.8.8", "1.1.1.1"] {
            assert!(public(outside), "{outside}");
        }
    }
}
