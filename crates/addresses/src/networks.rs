//! Networks whose members are believed, or let in.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use ipnet::IpNet;

/// A list of networks in CIDR notation; an address alone is a network of one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Networks(Vec<IpNet>);

impl Networks {
    /// Networks of no public address: loopback, private (RFC 1918, RFC 4193) and link-local ones.
    pub fn private() -> Self {
        let known = [
            "127.0.0.0/8",
            "10.0.0.0/8",
            "172.16.0.0/12",
            "192.168.0.0/16",
            "169.254.0.0/16",
            "::1/128",
            "fc00::/7",
            "fe80::/10",
        ];
        Self(known.iter().map(|one| one.parse().expect("a network of this file")).collect())
    }

    /// Those of a list of texts.
    ///
    /// # Errors
    /// The first that is no network.
    pub fn listed(texts: &[String]) -> Result<Self, WrongNetwork> {
        texts.join(",").parse()
    }

    /// Whether one of them contains the address. An IPv4 address mapped into IPv6 is the IPv4
    /// address.
    pub fn contain(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        self.0.iter().any(|network| network.contains(&address))
    }
}

/// A text that is no network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrongNetwork(String);

impl fmt::Display for WrongNetwork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} is no network: write 10.0.0.0/8, fd00::/8 or an address", self.0)
    }
}

impl std::error::Error for WrongNetwork {}

impl FromStr for Networks {
    type Err = WrongNetwork;

    /// Reads networks with commas between.
    fn from_str(text: &str) -> Result<Self, WrongNetwork> {
        let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
        let network = |part: &str| {
            let whole = || part.parse::<IpAddr>().map(IpNet::from);
            part.parse().or_else(|_| whole()).map_err(|_| WrongNetwork(part.to_owned()))
        };
        parts.map(network).collect::<Result<_, _>>().map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_contain_their_addresses_and_no_others() {
        let networks: Networks = "10.0.0.0/8, 192.0.2.7,fd00::/8".parse().expect("networks");
        for (address, inside) in [
            ("10.255.0.1", true),
            ("11.0.0.1", false),
            ("192.0.2.7", true),
            ("192.0.2.8", false),
            ("::ffff:10.0.0.1", true),
            ("fd12::1", true),
            ("2001:db8::1", false),
        ] {
            assert_eq!(networks.contain(address.parse().expect("an address")), inside, "{address}");
        }
        assert!("10.0.0.0/33".parse::<Networks>().is_err());
        assert!("example.org".parse::<Networks>().is_err());
        assert_eq!("".parse(), Ok(Networks::default()));
    }

    #[test]
    fn private_networks_have_no_public_address() {
        let private = Networks::private();
        for (address, inside) in [
            ("127.0.0.2", true),
            ("172.31.0.1", true),
            ("172.32.0.1", false),
            ("::1", true),
            ("8.8.8.8", false),
        ] {
            assert_eq!(private.contain(address.parse().expect("an address")), inside, "{address}");
        }
    }
}
