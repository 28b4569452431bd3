//! Certificates and keys of a TLS listener: read from their files, at the start and again on SIGHUP.
//!
//! A file that cannot be read or used is an error that names it; on a reload the listener then goes on with what it has.

use std::path::{Path, PathBuf};

use stadium_reactor::tls::{
    ClientCertificates, Identity, ServerTls, ServerTlsSettings, certificates_from_pem, identity_from_pem,
};

use crate::error::Error;
use crate::settings::{self, Tls};

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
        let path = named(table, "client_ca", tls.client_ca.as_ref())?;
        certificates_from_pem(&bytes(path)?)
            .map_err(|error| Error::Certificate(format!("{}: {error}", path.display())))
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
