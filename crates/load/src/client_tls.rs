//! TLS of simulated clients: certificates and keys are read from files, as the target's settings name them.

use std::fmt::Display;
use std::path::Path;

use stadium_reactor::tls::{
    ClientTls, ClientTlsSettings, SessionResumption, Trust, certificates_from_pem, identity_from_pem,
};

/// What a client believes and shows.
pub(crate) struct Asked<'a> {
    /// The name that the server's certificate must have.
    pub(crate) server_name: String,
    /// PEM file of the authorities to believe; `None` believes anybody.
    pub(crate) authority: Option<&'a Path>,
    /// PEM files of the client's own certificate chain and key.
    pub(crate) identity: Option<(&'a Path, &'a Path)>,
    /// Protocols to offer, RFC 7301.
    pub(crate) alpn: Vec<Vec<u8>>,
    /// Whether a connection may resume the session of another.
    pub(crate) resumption: bool,
}

/// Reads the files.
///
/// # Errors
///
/// In words: the file that cannot be read or does not hold what it should.
pub(crate) fn client_tls(asked: Asked<'_>) -> Result<ClientTls, String> {
    let trust = match asked.authority {
        None => Trust::Anybody,
        Some(path) => Trust::Roots(certificates_from_pem(&read(path)?).map_err(wrong(path))?),
    };
    let identity = match asked.identity {
        None => None,
        Some((chain, key)) => Some(identity_from_pem(&read(chain)?, &read(key)?).map_err(wrong(chain))?),
    };
    ClientTls::new(&ClientTlsSettings {
        server_name: asked.server_name,
        trust,
        identity,
        alpn: asked.alpn,
        resumption: if asked.resumption { SessionResumption::Tickets } else { SessionResumption::Off },
    })
    .map_err(|error| error.to_string())
}

fn read(path: &Path) -> Result<Vec<u8>, String> {
    std::fs::read(path).map_err(wrong(path))
}

fn wrong<E: Display>(path: &Path) -> impl FnOnce(E) -> String {
    move |error| format!("{}: {error}", path.display())
}
