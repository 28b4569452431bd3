//! Whom a client certificate names.
//!
//! The TLS layer has verified the chain, the dates and the possession of the key. A certificate that carries
//! no name in the configured place, or more than one, names nobody.

use stadium_reactor::tls::CertificateNames;

use super::token::bind;
use super::verdict::is_principal;
use super::{CertificateConfig, DenyReason, Identity, Via};

/// The identity of this DER.
pub(super) fn verify(
    config: &CertificateConfig,
    der: &[u8],
    client_id: &str,
) -> Result<Identity, DenyReason> {
    let names = CertificateNames::read(der).ok_or(DenyReason::BadCertificate)?;
    let name = names.name(config.name).filter(|name| is_principal(name)).ok_or(DenyReason::BadCertificate)?;
    bind(config.client_id, name, client_id)?;
    let expires_at = names.ends_at();
    Ok(Identity { principal: name.into(), via: Via::Certificate, expires_at, groups: [].into() })
}

/// The subject in the form of RFC 4514, for the callback. `None` when the DER does not parse.
pub(super) fn subject(der: &[u8]) -> Option<String> {
    CertificateNames::read(der).map(|names| names.subject().to_owned())
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use rcgen::{CertificateParams, DnType, KeyPair, SanType, string::Ia5String};

    use super::*;
    use crate::auth::{CertificateName, ClientIdBinding};

    fn certificate(common_name: Option<&str>, dns: &[&str], uri: Option<&str>) -> Vec<u8> {
        let mut params = CertificateParams::new(Vec::new()).expect("parameters");
        params.distinguished_name = rcgen::DistinguishedName::new();
        if let Some(name) = common_name {
            params.distinguished_name.push(DnType::CommonName, name);
        }
        let text = |text: &str| Ia5String::try_from(text).expect("ASCII");
        params.subject_alt_names.extend(dns.iter().map(|name| SanType::DnsName(text(name))));
        params.subject_alt_names.extend(uri.map(|uri| SanType::URI(text(uri))));
        params.not_after = rcgen::date_time_ymd(2040, 1, 2);
        let key = KeyPair::generate().expect("a key");
        params.self_signed(&key).expect("a certificate").der().to_vec()
    }

    fn named(place: CertificateName, der: &[u8], client_id: &str) -> Result<String, DenyReason> {
        let config = CertificateConfig { name: place, client_id: ClientIdBinding::MustEqualPrincipal };
        verify(&config, der, client_id).map(|identity| identity.principal.to_string())
    }

    #[test]
    fn the_configured_place_names_the_principal() {
        let der = certificate(Some("d1"), &["d1.example"], Some("urn:d1"));
        assert_eq!(named(CertificateName::CommonName, &der, "d1").as_deref(), Ok("d1"));
        assert_eq!(named(CertificateName::SanDns, &der, "d1.example").as_deref(), Ok("d1.example"));
        assert_eq!(named(CertificateName::SanUri, &der, "").as_deref(), Ok("urn:d1"));
        assert_eq!(named(CertificateName::SanEmail, &der, ""), Err(DenyReason::BadCertificate));
        assert_eq!(named(CertificateName::CommonName, &der, "d2"), Err(DenyReason::ClientId));
    }

    #[test]
    fn none_or_several_names_are_nobody() {
        let several = certificate(None, &["a.example", "b.example"], None);
        assert_eq!(named(CertificateName::SanDns, &several, ""), Err(DenyReason::BadCertificate));
        assert_eq!(named(CertificateName::CommonName, &several, ""), Err(DenyReason::BadCertificate));
        assert_eq!(named(CertificateName::CommonName, b"no DER", ""), Err(DenyReason::BadCertificate));
        let odd = certificate(Some("d1\0.example"), &[], None);
        assert_eq!(named(CertificateName::CommonName, &odd, ""), Err(DenyReason::BadCertificate));
    }

    #[test]
    fn the_proof_ends_with_the_certificate() {
        let der = certificate(Some("d1"), &[], None);
        let identity = verify(&CertificateConfig::default(), &der, "d1").expect("an identity");
        let seconds = identity.expires_at.and_then(|end| end.duration_since(SystemTime::UNIX_EPOCH).ok());
        assert_eq!(seconds.map(|end| end.as_secs()), Some(2_209_075_200));
        assert_eq!(identity.via, Via::Certificate);
    }
}
