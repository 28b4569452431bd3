//! The file that names hosts, and what is done on each.
//!
//! ```toml
//! copy = true                     # put this binary there first; otherwise `binary` has to be there
//! options = ["-i", "~/.ssh/load"] # more options of ssh, for all hosts
//!
//! [[hosts]]
//! ssh = "load@10.0.0.5"
//! loops = 4
//! ```

use std::net::SocketAddr;

use serde::Deserialize;

use crate::error::Error;

/// Hosts of one file; more is a mistake.
const HOSTS_MAX: usize = 1_000;
/// Where the worker of the first host listens on that host; that of the next one a port further.
const PORT: u16 = 7_901;

/// The contents of the file.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hosts {
    /// The program that reaches them: OpenSSH's or one that takes its arguments.
    #[serde(default = "ssh")]
    pub program: String,
    /// Options of it, for all hosts.
    #[serde(default)]
    pub options: Vec<String>,
    /// Whether this binary is copied to each host, to be removed when its worker ends.
    #[serde(default)]
    pub copy: bool,
    /// The binary on the hosts, where it is not copied.
    #[serde(default = "binary")]
    pub binary: String,
    /// The hosts.
    pub hosts: Vec<Host>,
}

/// A host.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Host {
    /// How ssh names it: `HOST`, `USER@HOST`, or a name of its configuration.
    pub ssh: String,
    /// The worker's name in reports; otherwise as `ssh`.
    pub name: Option<String>,
    /// Where the worker listens there; on the host's own loopback where it is reached through ssh.
    pub port: Option<u16>,
    /// Where it is reached without ssh between; it then listens on this address. Otherwise a tunnel of ssh is used.
    pub address: Option<SocketAddr>,
    /// Its loops; otherwise one a processor.
    #[serde(default)]
    pub loops: u32,
    /// Options of ssh for this host.
    #[serde(default)]
    pub options: Vec<String>,
}

fn ssh() -> String {
    "ssh".to_owned()
}

fn binary() -> String {
    "stadium".to_owned()
}

impl Hosts {
    /// Reads the file's text.
    ///
    /// # Errors
    /// [`Error::Config`] with the line, for what is no such file.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let hosts: Hosts = toml::from_str(text).map_err(|error| Error::Config(error.to_string()))?;
        if hosts.hosts.is_empty() || hosts.hosts.len() > HOSTS_MAX {
            return Err(Error::Config(format!("hosts are 1 to {HOSTS_MAX}, not {}", hosts.hosts.len())));
        }
        for host in &hosts.hosts {
            // ssh would take it for an option.
            if host.ssh.is_empty() || host.ssh.starts_with('-') {
                return Err(Error::Config(format!("{:?} is no host", host.ssh)));
            }
        }
        Ok(hosts)
    }
}

impl Host {
    /// Its worker's name.
    pub(super) fn name(&self) -> &str {
        self.name.as_deref().unwrap_or(&self.ssh)
    }

    /// Where its worker listens there; it is host number `index` of its file.
    pub(super) fn listens(&self, index: usize) -> SocketAddr {
        self.address.unwrap_or_else(|| {
            // There are fewer hosts than ports beyond that one.
            let port = self.port.unwrap_or(PORT + index as u16);
            SocketAddr::from(([127, 0, 0, 1], port))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_needs_a_name_only() {
        let hosts = Hosts::parse("[[hosts]]\nssh = \"a\"\n[[hosts]]\nssh = \"me@b\"\nname = \"bee\"\n")
            .expect("well formed");
        assert_eq!((hosts.program.as_str(), hosts.binary.as_str(), hosts.copy), ("ssh", "stadium", false));
        assert_eq!(hosts.hosts[0].name(), "a");
        assert_eq!(hosts.hosts[1].name(), "bee");
        assert_eq!(hosts.hosts[1].listens(1).to_string(), "127.0.0.1:7902");
    }

    #[test]
    fn mistakes_are_reported() {
        let error = |text: &str| Hosts::parse(text).expect_err("it is wrong").to_string();
        assert!(error("hosts = []").contains("not 0"));
        assert!(error("[[hosts]]\nssh = \"a\"\nprot = 1\n").contains("prot"));
        assert!(error("[[hosts]]\nssh = \"-oProxyCommand=x\"\n").contains("no host"));
        assert!(error("copy = true").contains("hosts"));
    }
}
