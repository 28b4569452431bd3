//! `[acme]`: certificates from an ACME server, such as Let's Encrypt.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use crate::settings::define::group;

group! {
    /// Certificates from an ACME server (RFC 8555), obtained and renewed by this server. On when
    /// `domains` names one. By naming it you accept the terms of service of the ACME server.
    pub struct Acme {
        /// Names that the certificate is for, such as `push.example.com`. Each must lead to this
        /// machine, and the ACME server reaches port 80 there.
        domains: Vec<String> = Vec::new();
        /// Mail addresses of the people whom the ACME server may write to.
        contacts: Vec<String> = Vec::new();
        /// The directory of the ACME server. That of Let's Encrypt for trials is
        /// `https://acme-staging-v02.api.letsencrypt.org/directory`; nobody trusts its certificates.
        directory: String = "https://acme-v02.api.letsencrypt.org/directory".to_owned();
        /// The authority that signed the certificate of a private ACME server, PEM. Without it,
        /// those that the system trusts.
        ca: Option<PathBuf> = None;
        /// Where challenges are answered (HTTP-01) while an order runs. The ACME server asks port
        /// 80 of each domain.
        listen: SocketAddr = SocketAddr::from((Ipv4Addr::UNSPECIFIED, 80));
        /// The listeners that show the certificate, unless they have one of their own: `mqtts`,
        /// `wss`, `http`. Of `http` it makes an HTTPS port.
        listeners: Vec<String> = ["mqtts", "wss", "http"].map(str::to_owned).to_vec();
        /// Time from the first failure to the next order; three times as long after each further
        /// one, up to six hours.
        retry_s: u32 = 60, unit "s", in 1..=21_600, cost "more orders that fail; ACME servers bound them, Let's Encrypt to five an hour";
    }
}
