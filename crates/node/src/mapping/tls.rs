//! Certificates and keys of a TLS listener: read from their files, at the start and again on SIGHUP; and those of calls
//! to services, read at the start.
//!
//! A file that cannot be read or used is an error that names it; on a reload the listener then goes on with what it has.

use std::path::{Path, PathBuf};

use stadium_reactor::tls::{
    Authorities, ClientCertificates, ClientTls, ClientTlsSettings, Identity, ServerTls, ServerTlsSettings,
    SessionResumption, Trust, certificates_from_pem, identity_from_pem, revocation_lists_from_pem,
};

use crate::error::Error;
use crate::settings::{self, Rpc, Tls};

/// TLS towards services that are called.
#[derive(Debug, Clone, Copy)]
pub struct CallTls<'a> {
    /// Authorities that sign their certificates, PEM.
    pub authorities: &'a Path,
    /// The name that their certificates carry.
    pub server_name: &'a str,
    /// Our certificate and its key, PEM, where they ask for one.
    pub identity: Option<(&'a Path, &'a Path)>,
}

impl CallTls<'_> {
    /// Reads the files.
    ///
    /// # Errors
    /// [`Error::Certificate`], which names the file.
    pub fn open(&self) -> Result<ClientTls, Error> {
        let named = |path: &Path, error: &dyn std::fmt::Display| {
            Error::Certificate(format!("{}: {error}", path.display()))
        };
        let roots = certificates_from_pem(&bytes(self.authorities)?)
            .map_err(|error| named(self.authorities, &error))?;
        let identity = self.identity.map(|(certificate, key)| {
            identity_from_pem(&bytes(certificate)?, &bytes(key)?).map_err(|error| named(certificate, &error))
        });
        let settings = ClientTlsSettings {
            server_name: self.server_name.to_owned(),
            trust: Trust::Roots(roots),
            identity: identity.transpose()?,
            alpn: Vec::new(),
            resumption: SessionResumption::Tickets,
        };
        ClientTls::new(&settings).map_err(|error| named(self.authorities, &error))
    }
}

/// TLS of this process's own calls; `None` where they go without.
pub(crate) fn of_calls(rpc: &Rpc) -> Result<Option<ClientTls>, Error> {
    let (Some(authorities), Some(server_name)) = (&rpc.calls_ca, &rpc.calls_server_name) else {
        return Ok(None);
    };
    let identity = rpc.tls.certificate.as_deref().zip(rpc.tls.key.as_deref());
    CallTls { authorities, server_name, identity }.open().map(Some)
}

/// A TLS listener's handle, and the files it is made from.
#[derive(Debug, Clone)]
pub(crate) struct Certificates {
    table: &'static str,
    tls: Tls,
    /// Shared with the loops; a reload through it reaches every new handshake.
    pub(crate) handle: ServerTls,
}

impl Certificates {
    /// Reads the files of the listener `table`.
    pub(crate) fn open(table: &'static str, tls: &Tls) -> Result<Self, Error> {
        let settings = read(table, tls)?;
        let handle = ServerTls::new(&settings).map_err(|error| refused(table, tls, &error))?;
        Ok(Self { table, tls: tls.clone(), handle })
    }

    /// Reads the files again. On an error the old certificates stay in force.
    pub(crate) fn reload(&self) -> Result<(), Error> {
        let settings = read(self.table, &self.tls)?;
        self.handle.reload(&settings).map_err(|error| refused(self.table, &self.tls, &error))
    }
}

fn read(table: &str, tls: &Tls) -> Result<ServerTlsSettings, Error> {
    let certificate = named(table, "certificate", tls.certificate.as_ref())?;
    let key = named(table, "key", tls.key.as_ref())?;
    let identity: Identity = identity_from_pem(&bytes(certificate)?, &bytes(key)?).map_err(|error| {
        Error::Certificate(format!("{}, {}: {error}", certificate.display(), key.display()))
    })?;
    let authorities = || {
        let named_in = |path: &Path, error: &dyn std::fmt::Display| {
            Error::Certificate(format!("{}: {error}", path.display()))
        };
        let path = named(table, "client_ca", tls.client_ca.as_ref())?;
        let roots = certificates_from_pem(&bytes(path)?).map_err(|error| named_in(path, &error))?;
        let revocation_lists = match &tls.client_crl {
            Some(path) => revocation_lists_from_pem(&bytes(path)?).map_err(|error| named_in(path, &error))?,
            None => Vec::new(),
        };
        Ok::<_, Error>(Authorities { roots, revocation_lists })
    };
    let client_certificates = match tls.client_certificates {
        settings::ClientCertificates::None => ClientCertificates::None,
        settings::ClientCertificates::Optional => ClientCertificates::Optional(authorities()?),
        settings::ClientCertificates::Required => ClientCertificates::Required(authorities()?),
    };
    Ok(ServerTlsSettings { identity, client_certificates, alpn: Vec::new() })
}

fn named<'a>(table: &str, key: &str, path: Option<&'a PathBuf>) -> Result<&'a PathBuf, Error> {
    path.ok_or_else(|| Error::Certificate(format!("{table}.{key} names no file")))
}

fn bytes(path: &Path) -> Result<Vec<u8>, Error> {
    std::fs::read(path)
        .map_err(|error| Error::Certificate(format!("{} cannot be read: {error}", path.display())))
}

fn refused(table: &str, tls: &Tls, error: &dyn std::fmt::Display) -> Error {
    let certificate = tls.certificate.as_deref().unwrap_or_else(|| Path::new("")).display();
    Error::Certificate(format!("[{table}] {certificate}: {error}"))
}
