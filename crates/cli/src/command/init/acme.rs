//! The decisions of `stadium init --tls acme`: which names, from which ACME server.

use std::fmt::Write as _;
use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;

use super::TlsSource;
use crate::failure::{Context, Failure};

/// Let's Encrypt for trials.
const STAGING: &str = "https://acme-staging-v02.api.letsencrypt.org/directory";

/// The flags of `--tls acme`.
#[derive(Debug, Args)]
pub(crate) struct Flags {
    /// A domain of this server; --tls acme, as often as needed
    #[arg(long = "domain", value_name = "NAME")]
    domains: Vec<String>,
    /// Whom the ACME server may write to, a mail address; --tls acme
    #[arg(long = "acme-contact", value_name = "MAIL")]
    contacts: Vec<String>,
    /// Certificates of Let's Encrypt for trials, which nobody trusts; --tls acme
    #[arg(long = "acme-staging", conflicts_with = "directory")]
    staging: bool,
    /// Directory of another ACME server than Let's Encrypt; --tls acme
    #[arg(long = "acme-directory", value_name = "URL")]
    directory: Option<String>,
    /// Authority of a private ACME server, PEM; --tls acme
    #[arg(long = "acme-ca", value_name = "FILE")]
    ca: Option<PathBuf>,
    /// Where challenges of the ACME server are answered [default: 0.0.0.0:80]
    #[arg(long = "acme-listen", value_name = "ADDR")]
    listen: Option<SocketAddr>,
}

impl Flags {
    /// Whether a domain is named, which means ACME.
    pub(super) fn has_domain(&self) -> bool {
        !self.domains.is_empty()
    }

    fn is_given(&self) -> bool {
        let Self { domains, contacts, staging, directory, ca, listen } = self;
        !domains.is_empty()
            || !contacts.is_empty()
            || *staging
            || directory.is_some()
            || ca.is_some()
            || listen.is_some()
    }
}

/// Where the certificate comes from.
#[derive(Debug)]
pub(super) struct Acme {
    pub(super) domains: Vec<String>,
    contacts: Vec<String>,
    directory: Option<String>,
    ca: Option<PathBuf>,
    listen: Option<SocketAddr>,
}

impl Acme {
    /// Decides; none where the certificate comes from elsewhere. `ask` asks on a terminal, `names`
    /// are those of a self-signed certificate.
    pub(super) fn decide(
        flags: Flags,
        tls: TlsSource,
        names: &[String],
        ask: impl Fn(&str) -> Result<String, Failure>,
    ) -> Result<Option<Self>, Failure> {
        if tls != TlsSource::Acme {
            return match flags.is_given() {
                true => Err(Failure::Usage("--domain and --acme-... are for --tls acme".into())),
                false => Ok(None),
            };
        }
        if !names.is_empty() {
            return Err(Failure::Usage("--name is for --tls self-signed; --tls acme takes --domain".into()));
        }
        let Flags { mut domains, contacts, staging, directory, ca, listen } = flags;
        if domains.is_empty() {
            let answer = ask("Which domains lead to this server?")?;
            domains = answer.split([',', ' ']).filter(|name| !name.is_empty()).map(str::to_owned).collect();
        }
        if domains.is_empty() {
            return Err(Failure::Usage(
                "--tls acme needs --domain: the name that leads to this server".into(),
            ));
        }
        let ca = ca.map(|path| {
            let path = std::path::absolute(&path).context(path.display())?;
            std::fs::File::open(&path).context(path.display())?;
            Ok::<_, Failure>(path)
        });
        let directory = if staging { Some(STAGING.to_owned()) } else { directory };
        Ok(Some(Self { domains, contacts, directory, ca: ca.transpose()?, listen }))
    }

    /// The decision in words.
    pub(super) fn decided(&self) -> String {
        let server = match self.directory.as_deref() {
            None => "Let's Encrypt, whose terms of service you accept by this",
            Some(STAGING) => "Let's Encrypt for trials; nobody trusts it",
            Some(other) => other,
        };
        format!(
            "a certificate for {} from {server}; port 80 of each name must lead to {}",
            self.domains.join(", "),
            self.listen.map_or_else(|| "this machine".to_owned(), |listen| listen.to_string())
        )
    }

    /// The table of stadium.toml. On loopback HTTP stays as it is, so that commands on this machine
    /// need no certificate.
    pub(super) fn table(&self, http_has_tls: bool) -> String {
        let list = |items: &[String]| {
            let items: Vec<String> = items.iter().map(|item| quoted(item)).collect();
            items.join(", ")
        };
        let mut out = format!("\n[acme]\ndomains = [{}]\n", list(&self.domains));
        // Writing to a `String` cannot fail.
        if !self.contacts.is_empty() {
            let _ = writeln!(out, "contacts = [{}]", list(&self.contacts));
        }
        if let Some(directory) = &self.directory {
            let _ = writeln!(out, "directory = {}", quoted(directory));
        }
        if let Some(ca) = &self.ca {
            let _ = writeln!(out, "ca = {}", quoted(&ca.display().to_string()));
        }
        if let Some(listen) = self.listen {
            let _ = writeln!(out, "listen = \"{listen}\"  # port 80 of the domains leads here");
        }
        if !http_has_tls {
            out.push_str("listeners = [\"mqtts\"]\n");
        }
        out
    }
}

fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}
