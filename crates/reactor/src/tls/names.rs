//! The names in a certificate that a peer has shown.
//!
//! The handshake has verified the chain, the dates and the possession of the key. A certificate
//! that carries no name in a place, or more than one, names nobody by that place: choosing one of
//! several would let an issuer's carelessness decide who a peer is.

use std::time::{Duration, SystemTime};

use x509_parser::certificate::X509Certificate;
use x509_parser::extensions::GeneralName;
use x509_parser::parse_x509_certificate;

/// Where a certificate carries its holder's name. It must stand there exactly once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CertificateName {
    /// The subject's common name.
    #[default]
    CommonName,
    /// The subject alternative name of type DNS.
    SanDns,
    /// The subject alternative name of type URI.
    SanUri,
    /// The subject alternative name of type e-mail.
    SanEmail,
}

/// The names of a certificate, read once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CertificateNames {
    common_name: Option<Box<str>>,
    san_dns: Option<Box<str>>,
    san_uri: Option<Box<str>>,
    san_email: Option<Box<str>>,
    subject: Box<str>,
    ends_at: Option<SystemTime>,
}

impl CertificateNames {
    /// Reads a certificate in DER. None where it is no X.509 certificate.
    pub fn read(der: &[u8]) -> Option<Self> {
        let (_, certificate) = parse_x509_certificate(der).ok()?;
        let mut common_names = certificate.subject().iter_common_name();
        let common_name = common_names.next().and_then(|name| name.as_str().ok());
        let common_name = common_name.filter(|_| common_names.next().is_none());
        let seconds = u64::try_from(certificate.validity().not_after.timestamp()).unwrap_or(0);
        let alternative = |of: fn(&GeneralName<'_>) -> Option<Box<str>>| only(&certificate, of);
        Some(Self {
            common_name: common_name.map(Box::from),
            san_dns: alternative(|name| match name {
                GeneralName::DNSName(name) => Some((*name).into()),
                _ => None,
            }),
            san_uri: alternative(|name| match name {
                GeneralName::URI(name) => Some((*name).into()),
                _ => None,
            }),
            san_email: alternative(|name| match name {
                GeneralName::RFC822Name(name) => Some((*name).into()),
                _ => None,
            }),
            subject: certificate.subject().to_string().into(),
            ends_at: SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(seconds)),
        })
    }

    /// The only name in this place.
    pub fn name(&self, place: CertificateName) -> Option<&str> {
        match place {
            CertificateName::CommonName => self.common_name.as_deref(),
            CertificateName::SanDns => self.san_dns.as_deref(),
            CertificateName::SanUri => self.san_uri.as_deref(),
            CertificateName::SanEmail => self.san_email.as_deref(),
        }
    }

    /// The whole subject, in the form of RFC 4514.
    pub fn subject(&self) -> &str {
        &self.subject
    }

    /// The certificate's last second; none beyond what a clock can show.
    pub fn ends_at(&self) -> Option<SystemTime> {
        self.ends_at
    }
}

/// The only alternative name of a kind.
fn only(certificate: &X509Certificate<'_>, of: fn(&GeneralName<'_>) -> Option<Box<str>>) -> Option<Box<str>> {
    let alternatives = &certificate.subject_alternative_name().ok()??.value.general_names;
    let mut names = alternatives.iter().filter_map(of);
    let name = names.next()?;
    names.next().is_none().then_some(name)
}

#[cfg(test)]
mod tests {
    use rcgen::{CertificateParams, DistinguishedName, DnType, KeyPair, SanType, string::Ia5String};

    use super::*;

    fn certificate(common_name: Option<&str>, dns: &[&str], uri: Option<&str>) -> Vec<u8> {
        let mut params = CertificateParams::new(Vec::new()).expect("parameters");
        params.distinguished_name = DistinguishedName::new();
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

    fn names(der: &[u8]) -> CertificateNames {
        CertificateNames::read(der).expect("a certificate")
    }

    #[test]
    fn each_place_has_its_name() {
        let names = names(&certificate(Some("d1"), &["d1.example"], Some("urn:d1")));
        assert_eq!(names.name(CertificateName::CommonName), Some("d1"));
        assert_eq!(names.name(CertificateName::SanDns), Some("d1.example"));
        assert_eq!(names.name(CertificateName::SanUri), Some("urn:d1"));
        assert_eq!(names.name(CertificateName::SanEmail), None);
        assert_eq!(names.subject(), "CN=d1");
        let end = names.ends_at().and_then(|end| end.duration_since(SystemTime::UNIX_EPOCH).ok());
        assert_eq!(end.map(|end| end.as_secs()), Some(2_209_075_200));
    }

    #[test]
    fn none_or_several_names_are_nobody() {
        let several = names(&certificate(None, &["a.example", "b.example"], None));
        assert_eq!(several.name(CertificateName::SanDns), None);
        assert_eq!(several.name(CertificateName::CommonName), None);
        assert_eq!(CertificateNames::read(b"no DER"), None);
    }
}
