//! A network that can swallow packets: server, carrier and device, each in a network namespace of its own.
//!
//! ```text
//! server 198.18.1.2 --veth-- carrier (forwards) --veth-- device 198.18.2.2
//! ```
//!
//! When the carrier stops forwarding, both sides keep their links and get neither FIN nor RST nor ICMP: what a mobile
//! network does to a phone. Needs root and iproute2; the namespaces go when [`Network`] is dropped.

use std::ffi::OsStr;
use std::fs::File;
use std::net::{IpAddr, Ipv4Addr};
use std::os::fd::AsFd as _;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::{Context as _, Result, ensure};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use crate::mortal;

/// A network namespace by name.
#[derive(Clone, Debug)]
pub struct Namespace(String);

impl Namespace {
    pub(crate) fn named(name: String) -> Self {
        Self(name)
    }

    pub(crate) fn name(&self) -> &str {
        &self.0
    }

    /// A command that runs inside.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.0]).arg(program);
        command
    }

    /// The same, of a process that ends with the thread that starts it: see [`mortal::command`].
    pub fn mortal_command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = mortal::command("ip");
        command.args(["netns", "exec", &self.0]).arg(program);
        command
    }

    /// Moves this thread inside. Its sockets, and threads and processes that it starts from now on, are
    /// inside too.
    pub fn enter(&self) -> Result<()> {
        let path = format!("/run/netns/{}", self.0);
        let file = File::open(&path).with_context(|| format!("cannot open {path}"))?;
        move_into_link_name_space(file.as_fd(), Some(LinkNameSpaceType::Network))
            .context("cannot enter the network namespace")
    }

    /// Runs `work` on a thread that is inside; sockets made there stay inside.
    pub fn within<T: Send>(&self, work: impl FnOnce() -> Result<T> + Send) -> Result<T> {
        std::thread::scope(|scope| {
            let inside = scope.spawn(|| {
                self.enter()?;
                work()
            });
            inside.join().map_err(|_| anyhow::anyhow!("the work in the namespace panicked"))?
        })
    }
}

/// The three namespaces.
#[derive(Debug)]
pub struct Network {
    /// Where the server runs.
    pub server: Namespace,
    /// Where the device is.
    pub device: Namespace,
    carrier: Namespace,
}

impl Network {
    /// The server's address.
    pub const SERVER: IpAddr = IpAddr::V4(Ipv4Addr::new(198, 18, 1, 2));

    /// Builds it, forwarding.
    pub fn new() -> Result<Self> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let unique = format!("{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let name = |role: &str| Namespace(format!("stadium-{role}-{unique}"));
        // From here on dropping takes the namespaces away again, also when a later step fails.
        let network = Self { server: name("server"), device: name("device"), carrier: name("carrier") };
        for (namespace, subnet) in [(&network.server, "198.18.1"), (&network.device, "198.18.2")] {
            ip(&["netns", "add", &namespace.0])?;
            if subnet == "198.18.1" {
                ip(&["netns", "add", &network.carrier.0])?;
            }
            let end = if subnet == "198.18.1" { "to-server" } else { "to-device" };
            let (inside, carrier) = (&namespace.0, &network.carrier.0);
            ip(&[
                "-n", inside, "link", "add", "port", "type", "veth", "peer", "name", end, "netns", carrier,
            ])?;
            ip(&["-n", inside, "address", "add", &format!("{subnet}.2/24"), "dev", "port"])?;
            ip(&["-n", carrier, "address", "add", &format!("{subnet}.1/24"), "dev", end])?;
            for (side, link) in [(inside, "port"), (inside, "lo"), (carrier, end)] {
                ip(&["-n", side, "link", "set", "dev", link, "up"])?;
            }
            ip(&["-n", inside, "route", "add", "default", "via", &format!("{subnet}.1")])?;
        }
        network.forwards("1")?;
        Ok(network)
    }

    /// From now on every packet between server and device is lost.
    pub fn swallow(&self) -> Result<()> {
        self.forwards("0")
    }

    /// Packets pass again.
    pub fn restore(&self) -> Result<()> {
        self.forwards("1")
    }

    fn forwards(&self, value: &str) -> Result<()> {
        self.carrier.within(|| {
            std::fs::write("/proc/sys/net/ipv4/ip_forward", value).context("cannot set ip_forward")
        })
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        for namespace in [&self.device, &self.carrier, &self.server] {
            // It is missing when building failed half way.
            let _ = ip(&["netns", "delete", &namespace.0]);
        }
    }
}

pub(crate) fn ip(arguments: &[&str]) -> Result<()> {
    let output = Command::new("ip")
        .args(arguments)
        .output()
        .context("cannot run `ip`; install the Debian package iproute2")?;
    ensure!(
        output.status.success(),
        "`ip {}` failed (it needs root): {}",
        arguments.join(" "),
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(())
}
