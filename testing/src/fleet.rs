//! A client and several instances, each in a network namespace of its own, behind a carrier that
//! loses packets on request.
//!
//! ```text
//! client 198.18.9.2 --veth-- carrier (routes, nftables) --veth-- instance n 198.18.(20+n).2
//! ```
//!
//! The kernel here has no netem, so loss is a rule of nftables: a share of packets at random, all of them, or those of
//! connections that were open before. Needs root, iproute2 and nftables; all of it goes when [`Fleet`] is dropped.

use std::io::Write as _;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::process::Stdio;
use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::{Context as _, Result, ensure};

use crate::network::{Namespace, ip};

/// The port that every instance listens on.
const PORT: u16 = 7800;

/// The namespaces.
#[derive(Debug)]
pub struct Fleet {
    /// Where the client runs.
    pub client: Namespace,
    /// Where the instances run.
    pub instances: Vec<Namespace>,
    /// Between them.
    pub carrier: Namespace,
}

/// What the carrier loses, both ways.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss<'a> {
    /// Nothing.
    None,
    /// So many packets of a hundred, at random, of one instance.
    Share {
        /// The instance.
        instance: usize,
        /// Of a hundred.
        percent: u8,
    },
    /// The same of all instances.
    ShareOfAll {
        /// Of a hundred.
        percent: u8,
    },
    /// Every packet of one instance, those from and to servers of the carrier too.
    Everything {
        /// The instance.
        instance: usize,
    },
    /// Every packet between one instance and these TCP ports of the carrier.
    Ports {
        /// The instance.
        instance: usize,
        /// The ports, at least one.
        ports: &'a [u16],
    },
    /// Every packet of the connections to one instance that are open now; new ones work.
    OpenConnections {
        /// The instance.
        instance: usize,
    },
}

impl Fleet {
    /// The carrier's address as all see it.
    pub const CARRIER: IpAddr = IpAddr::V4(Ipv4Addr::new(198, 18, 9, 1));

    /// Builds it, losing nothing.
    pub fn new(instances: usize) -> Result<Self> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let unique = format!("{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let name = |role: &str| Namespace::named(format!("stadium-{role}-{unique}"));
        // From here on dropping takes the namespaces away again, also when a later step fails.
        let fleet = Self {
            client: name("caller"),
            instances: (0..instances).map(|at| name(&format!("instance{at}"))).collect(),
            carrier: name("transit"),
        };
        ip(&["netns", "add", fleet.carrier.name()])?;
        ip(&["-n", fleet.carrier.name(), "link", "set", "dev", "lo", "up"])?;
        fleet.connect(&fleet.client, 9)?;
        for (at, instance) in fleet.instances.iter().enumerate() {
            fleet.connect(instance, subnet(at))?;
        }
        fleet.carrier.within(|| {
            std::fs::write("/proc/sys/net/ipv4/ip_forward", "1").context("cannot set ip_forward")
        })?;
        fleet.lose(Loss::None)?;
        Ok(fleet)
    }

    fn connect(&self, namespace: &Namespace, subnet: u8) -> Result<()> {
        let (inside, carrier, end) = (namespace.name(), self.carrier.name(), format!("to-{subnet}"));
        ip(&["netns", "add", inside])?;
        ip(&["-n", inside, "link", "add", "port", "type", "veth", "peer", "name", &end, "netns", carrier])?;
        ip(&["-n", inside, "address", "add", &format!("198.18.{subnet}.2/24"), "dev", "port"])?;
        ip(&["-n", carrier, "address", "add", &format!("198.18.{subnet}.1/24"), "dev", &end])?;
        for (side, link) in [(inside, "port"), (inside, "lo"), (carrier, end.as_str())] {
            ip(&["-n", side, "link", "set", "dev", link, "up"])?;
        }
        ip(&["-n", inside, "route", "add", "default", "via", &format!("198.18.{subnet}.1")])
    }

    /// Where an instance listens.
    pub fn address(&self, instance: usize) -> SocketAddr {
        SocketAddr::from(([198, 18, subnet(instance), 2], PORT))
    }

    /// From now on the carrier loses that, and nothing else.
    pub fn lose(&self, loss: Loss<'_>) -> Result<()> {
        let of = |instance: usize| format!("198.18.{}.2", subnet(instance));
        // What the carrier passes on, and what its own servers get and send.
        let mut local = Vec::new();
        let (sets, rules) = match loss {
            Loss::None => (String::new(), Vec::new()),
            Loss::Share { instance, percent } => {
                let lost = format!("numgen random mod 100 < {percent} drop");
                let of = of(instance);
                (String::new(), vec![format!("ip saddr {of} {lost}"), format!("ip daddr {of} {lost}")])
            }
            Loss::ShareOfAll { percent } => {
                (String::new(), vec![format!("numgen random mod 100 < {percent} drop")])
            }
            Loss::Everything { instance } => {
                let of = of(instance);
                local = vec![format!("ip saddr {of} drop"), format!("ip daddr {of} drop")];
                (String::new(), local.clone())
            }
            Loss::Ports { instance, ports } => {
                let of = of(instance);
                let ports = ports.iter().map(u16::to_string).collect::<Vec<_>>().join(", ");
                local = vec![
                    format!("ip saddr {of} tcp dport {{ {ports} }} drop"),
                    format!("ip daddr {of} tcp sport {{ {ports} }} drop"),
                ];
                (String::new(), Vec::new())
            }
            Loss::OpenConnections { instance } => {
                let of = of(instance);
                // A connection that begins from now on is put into the set by its first packet.
                let set = "set fresh { type inet_service; flags dynamic; size 65535; }".to_owned();
                let rules = vec![
                    format!("ip daddr {of} tcp flags & (syn | ack) == syn add @fresh {{ tcp sport }}"),
                    format!("ip daddr {of} tcp sport @fresh accept"),
                    format!("ip saddr {of} tcp dport @fresh accept"),
                    format!("ip saddr {of} drop"),
                    format!("ip daddr {of} drop"),
                ];
                (set, rules)
            }
        };
        let chain = |hook: &str, rules: &[String]| {
            format!("chain {hook} {{\ntype filter hook {hook} priority 0;\n{}\n}}\n", rules.join("\n"))
        };
        let chains = [chain("forward", &rules), chain("input", &local), chain("output", &local)].concat();
        let table = format!(
            "table ip transit {{}}\ndelete table ip transit\ntable ip transit {{\n{sets}\n{chains}}}\n"
        );
        let mut nft = self.carrier.command("nft");
        let mut nft = nft
            .args(["-f", "-"])
            .stdin(Stdio::piped())
            .spawn()
            .context("cannot run `nft`; install the Debian package nftables")?;
        nft.stdin.take().context("stdin was asked to be piped")?.write_all(table.as_bytes())?;
        ensure!(nft.wait()?.success(), "nft refuses:\n{table}");
        Ok(())
    }
}

fn subnet(instance: usize) -> u8 {
    20 + u8::try_from(instance).expect("a fleet has few instances")
}

impl Drop for Fleet {
    fn drop(&mut self) {
        for namespace in self.instances.iter().chain([&self.client, &self.carrier]) {
            // It is missing when building failed half way.
            let _ = ip(&["netns", "delete", namespace.name()]);
        }
    }
}
