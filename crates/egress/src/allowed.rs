//! What the operator opens of the server's own network: networks, addresses and names of hosts.

use crate::public::{is_public, within_v4, within_v6};
use cardwire_model::Invalid;
use std::{
    fmt,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
};

/// The setting that holds the list.
pub const ALLOW: &str = "CARDWIRE_EGRESS_ALLOW";
/// A list that opens nothing.
const NONE: &str = "none";

/// Where calls of projects may go besides the public network.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Allowed {
    networks: Vec<Network>,
    names: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Network {
    address: IpAddr,
    bits: u32,
}

impl Allowed {
    /// This machine alone.
    pub fn loopback() -> Self {
        let v4 = Network { address: Ipv4Addr::new(127, 0, 0, 0).into(), bits: 8 };
        let v6 = Network { address: Ipv6Addr::LOCALHOST.into(), bits: 128 };
        Self { networks: vec![v4, v6], names: vec![] }
    }

    /// Reads networks (`10.0.0.0/8`), addresses and names of hosts; or `none` alone.
    pub fn parse<'a>(entries: impl IntoIterator<Item = &'a str>) -> Result<Self, Invalid> {
        let entries: Vec<_> = entries.into_iter().map(str::trim).filter(|entry| !entry.is_empty()).collect();
        let mut this = Self::default();
        if entries == [NONE] {
            return Ok(this);
        }
        for entry in entries {
            match (Network::parse(entry), is_name(entry)) {
                (Some(network), _) => this.networks.push(network),
                (None, true) => this.names.push(entry.to_ascii_lowercase()),
                (None, false) => {
                    let reason = format!(
                        "`{entry}` is neither a network (`10.0.0.0/8`), an address nor the name of a host; `{NONE}` stands alone"
                    );
                    return Err(Invalid::field(ALLOW, reason));
                }
            }
        }
        Ok(this)
    }

    /// Whether a call may go to this address.
    pub(crate) fn reaches(&self, address: IpAddr) -> bool {
        is_public(address) || self.networks.iter().any(|network| network.holds(address.to_canonical()))
    }

    /// Whether the operator allowed the host by its name. Then its addresses are not judged.
    pub(crate) fn trusts(&self, name: &str) -> bool {
        self.names.iter().any(|known| known.eq_ignore_ascii_case(name))
    }
}

impl fmt::Display for Allowed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let networks = self.networks.iter().map(|network| format!("{}/{}", network.address, network.bits));
        let all: Vec<_> = networks.chain(self.names.iter().cloned()).collect();
        f.write_str(if all.is_empty() { NONE.to_owned() } else { all.join(",") }.as_str())
    }
}

impl Network {
    fn parse(text: &str) -> Option<Self> {
        let (address, bits) = match text.split_once('/') {
            Some((address, bits)) => (address, Some(bits.parse().ok()?)),
            None => (text, None),
        };
        let address: IpAddr = address.trim_start_matches('[').trim_end_matches(']').parse().ok()?;
        let all = if address.is_ipv4() { 32 } else { 128 };
        let bits = bits.unwrap_or(all);
        (bits <= all).then_some(Self { address, bits })
    }

    fn holds(self, address: IpAddr) -> bool {
        match (self.address, address) {
            (IpAddr::V4(network), IpAddr::V4(address)) => within_v4(address, network, self.bits),
            (IpAddr::V6(network), IpAddr::V6(address)) => within_v6(address, network, self.bits),
            (IpAddr::V4(_), IpAddr::V6(_)) | (IpAddr::V6(_), IpAddr::V4(_)) => false,
        }
    }
}

/// A name with a letter in it: what has none is an address that was mistyped.
fn is_name(text: &str) -> bool {
    let legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    text != NONE && text.chars().all(legal) && text.chars().any(|c| c.is_ascii_alphabetic())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// F-39
    #[test]
    fn what_the_operator_names_is_open_and_nothing_beside_it() {
        let allowed =
            Allowed::parse(["10.1.0.0/16", " 192.168.0.7", "[fd00::]/8", "Tools.internal"]).unwrap();
        for (address, open) in [
            ("10.1.255.255", true),
            ("::ffff:10.1.0.1", true),
            ("10.2.0.0", false),
            ("192.168.0.7", true),
            ("192.168.0.8", false),
            ("fd12::1", true),
            ("fe80::1", false),
            ("127.0.0.1", false),
            ("8.8.8.8", true),
        ] {
            assert_eq!(allowed.reaches(address.parse().unwrap()), open, "{address}");
        }
        assert!(allowed.trusts("tools.INTERNAL") && !allowed.trusts("a.tools.internal"));
        assert_eq!(allowed.to_string(), "10.1.0.0/16,192.168.0.7/32,fd00::/8,tools.internal");
        let loopback = Allowed::loopback();
        for (address, open) in [
            ("127.255.0.1", true),
            ("::1", true),
            ("::ffff:127.0.0.1", true),
            ("::", false),
            ("0.0.0.0", false),
        ] {
            assert_eq!(loopback.reaches(address.parse().unwrap()), open, "{address}");
        }
    }

    #[test]
    fn a_list_is_read_whole_or_refused_by_the_name_of_the_setting() {
        assert_eq!(Allowed::parse(["none"]), Ok(Allowed::default()));
        assert_eq!(Allowed::parse([""]), Ok(Allowed::default()));
        assert_eq!(Allowed::default().to_string(), "none");
        for wrong in ["10.0.0.0/33", "fd00::/129", "10.0.0/8", "300.1.1.1", "http://x", "x:80", "*", "a b"] {
            assert_eq!(Allowed::parse([wrong]).unwrap_err().field_name(), ALLOW, "{wrong}");
        }
        assert!(Allowed::parse(["none", "10.0.0.0/8"]).is_err());
    }
}
