//! TLS on the loop: rustls shakes hands, we keep the records.
//!
//! After the handshake only the traffic keys stay, so that an idle connection holds no buffer. See
//! [`ServerTls`] and [`ClientTls`] for what owners configure.

mod config;

pub use config::{
    Authorities, ClientCertificates, ClientTls, ClientTlsSettings, Identity, ServerTls, ServerTlsSettings,
    SessionResumption, TlsError, Trust, certificates_from_pem, identity_from_pem, revocation_lists_from_pem,
};
mod handshake;
mod names;
mod record;

pub use names::{CertificateName, CertificateNames};

pub(crate) use handshake::{Handshake, Progress};
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) use record::fuzzing;
pub(crate) use record::{End, KeyCache, Records, alert};

/// TLS of one connection.
pub(crate) enum Tls {
    /// The handshake; taken out while it advances.
    Handshake(Option<Handshake>),
    /// Open.
    Open(Box<Records>),
}

impl Tls {
    /// Bytes of state, without what the allocator adds. A handshake is estimated: it is rustls' own.
    pub(crate) fn bytes(&self) -> usize {
        const HANDSHAKE_BYTES: usize = 8 * 1024;
        // rustls' key schedule and what it hangs on, as the allocator counted it.
        const KERNEL_BYTES: usize = 240;
        size_of::<Tls>()
            + match self {
                Tls::Handshake(_) => HANDSHAKE_BYTES,
                Tls::Open(_) => size_of::<Records>() + KERNEL_BYTES,
            }
    }

    /// Protects bytes of an open connection; during the handshake nothing can be sent.
    pub(crate) fn seal(&mut self, keys: &mut KeyCache, plain: &[u8], out: &mut Vec<u8>) {
        if let Tls::Open(records) = self {
            records.seal(keys, plain, out);
        }
    }

    /// Takes a new place in a loop's key cache, after a move.
    pub(crate) fn renew_serial(&mut self, serial: u64) {
        if let Tls::Open(records) = self {
            records.renew_serial(serial);
        }
    }

    /// Sends close_notify.
    pub(crate) fn seal_goodbye(&mut self, keys: &mut KeyCache, out: &mut Vec<u8>) {
        if let Tls::Open(records) = self {
            records.seal_alert(keys, alert::CLOSE_NOTIFY, out);
        }
    }
}
