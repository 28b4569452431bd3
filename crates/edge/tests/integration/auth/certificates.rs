//! Who came with a certificate that the handshake verified.

use stadium_edge::auth::*;

use crate::auth::fixture::{allowed, check, credentials, open};

#[test]
fn a_verified_certificate_needs_no_password() {
    let mut params = rcgen::CertificateParams::new(Vec::new()).expect("parameters");
    params.distinguished_name.push(rcgen::DnType::CommonName, "d1");
    let key = rcgen::KeyPair::generate().expect("a key");
    let der = params.self_signed(&key).expect("a certificate").der().to_vec();
    let config = AuthConfig { certificate: Some(CertificateConfig::default()), ..AuthConfig::default() };
    let authenticator = open(config);
    let shown = |client_id: &str| Credentials { certificate: Some(der.clone()), ..credentials(client_id) };
    let identity = allowed(check(&authenticator, shown("d1")));
    assert_eq!((&*identity.principal, identity.via), ("d1", Via::Certificate));
    assert_eq!(check(&authenticator, shown("d2")), Verdict::Deny(DenyReason::ClientId));
    assert_eq!(check(&authenticator, credentials("d1")), Verdict::Deny(DenyReason::NoCredentials));
}
