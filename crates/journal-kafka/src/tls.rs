//! TLS by rustls, for the connection that looks after the topic and for `rskafka`.
//!
//! librdkafka brings its own, which reads the same files.

use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use rustls_pki_types::pem::PemObject as _;
use rustls_pki_types::{CertificateDer, PrivateKeyDer, ServerName as Name, UnixTime};

use crate::settings::{ServerName, SettingsError, Tls};

/// The configuration of a client of these brokers.
pub(crate) fn configuration(tls: &Tls) -> Result<Arc<ClientConfig>, SettingsError> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let refused = |error: &dyn std::fmt::Display| SettingsError::new(format!("TLS refuses: {error}"));
    let mut roots = RootCertStore::empty();
    match &tls.authorities {
        Some(path) => {
            let certificates =
                CertificateDer::pem_file_iter(path).map_err(|error| SettingsError::of_file(path, &error))?;
            for certificate in certificates {
                let certificate = certificate.map_err(|error| SettingsError::of_file(path, &error))?;
                roots.add(certificate).map_err(|error| SettingsError::of_file(path, &error))?;
            }
            if roots.is_empty() {
                return Err(SettingsError::of_file(path, &"it holds no certificate"));
            }
        }
        None => {
            let found = rustls_native_certs::load_native_certs();
            let (added, _) = roots.add_parsable_certificates(found.certs);
            if added == 0 {
                return Err(SettingsError::new("the system has no authorities; name a file of them".into()));
            }
        }
    }
    let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider));
    let verifier = verifier.build().map_err(|error| refused(&error))?;
    let verifier: Arc<dyn ServerCertVerifier> = match tls.server_name {
        ServerName::Checked => verifier,
        ServerName::Unchecked => Arc::new(AnyName(verifier)),
    };
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| refused(&error))?
        .dangerous()
        .with_custom_certificate_verifier(verifier);
    let configuration = match &tls.identity {
        None => builder.with_no_client_auth(),
        Some(identity) => {
            let path = &identity.certificate;
            let chain = CertificateDer::pem_file_iter(path)
                .and_then(Iterator::collect::<Result<Vec<_>, _>>)
                .map_err(|error| SettingsError::of_file(path, &error))?;
            let key = PrivateKeyDer::from_pem_file(&identity.key)
                .map_err(|error| SettingsError::of_file(&identity.key, &error))?;
            builder.with_client_auth_cert(chain, key).map_err(|error| SettingsError::of_file(path, &error))?
        }
    };
    Ok(Arc::new(configuration))
}

/// Checks all of a broker's certificate but the name that it is for.
#[derive(Debug)]
struct AnyName(Arc<WebPkiServerVerifier>);

impl ServerCertVerifier for AnyName {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &Name<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        match self.0.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now) {
            // The name is compared last, after signatures and validity.
            Err(rustls::Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) => Ok(ServerCertVerified::assertion()),
            verdict => verdict,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.0.verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.0.verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_verify_schemes()
    }
}
