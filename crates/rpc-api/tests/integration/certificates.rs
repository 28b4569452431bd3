//! Callers that are known by the certificate of their connection.
//!
//! The handshakes are real, with an authority of the test's own.

use rcgen::{
    BasicConstraints, CertificateParams, CertificateRevocationListParams, CertifiedIssuer, DnType, IsCa,
    KeyIdMethod, KeyPair, KeyUsagePurpose, RevokedCertParams, SanType, date_time_ymd,
};
use stadium_grants::Role;
use stadium_http::HolderRights;
use stadium_http::key_store::NewKey;
use stadium_reactor::tls::{
    Authorities, ClientCertificates, ClientTlsSettings, Identity, ServerTlsSettings, SessionResumption,
    Trust, certificates_from_pem, identity_from_pem, revocation_lists_from_pem,
};
use stadium_rpc::CallError;
use stadium_rpc::net::{CertificateName, ClientTls, ServerTls};
use stadium_rpc_api::Identities;

use crate::fixture::{Scene, bearer, of_device, refused};

/// Signs the certificates of a server and of its callers.
struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).expect("no names are fine");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let key = KeyPair::generate().expect("a key");
        Self(CertifiedIssuer::self_signed(params, key).expect("an authority"))
    }

    fn signs(&self, common_name: &str, serial: u64, more: impl FnOnce(&mut CertificateParams)) -> Identity {
        let key = KeyPair::generate().expect("a key");
        let mut params = CertificateParams::new(vec!["localhost".to_owned()]).expect("a name");
        params.distinguished_name.push(DnType::CommonName, common_name);
        params.serial_number = Some(serial.into());
        more(&mut params);
        let certificate = params.signed_by(&key, &self.0).expect("signed");
        identity_from_pem(certificate.pem().as_bytes(), key.serialize_pem().as_bytes()).expect("just made")
    }

    fn server(&self, revoked: &[u64]) -> ServerTlsSettings {
        let roots = certificates_from_pem(self.0.pem().as_bytes()).expect("just made");
        let revocation_lists = match revoked {
            [] => Vec::new(),
            serials => revocation_lists_from_pem(self.list(serials).as_bytes()).expect("just made"),
        };
        ServerTlsSettings {
            identity: self.signs("server", 1, |_| {}),
            client_certificates: ClientCertificates::Optional(Authorities { roots, revocation_lists }),
            alpn: Vec::new(),
        }
    }

    fn list(&self, serials: &[u64]) -> String {
        let revoked = |serial: &u64| RevokedCertParams {
            serial_number: (*serial).into(),
            revocation_time: date_time_ymd(2024, 1, 1),
            reason_code: None,
            invalidity_date: None,
        };
        let params = CertificateRevocationListParams {
            this_update: date_time_ymd(2024, 1, 1),
            next_update: date_time_ymd(2040, 1, 1),
            crl_number: 1_u64.into(),
            issuing_distribution_point: None,
            revoked_certs: serials.iter().map(revoked).collect(),
            key_identifier_method: KeyIdMethod::Sha256,
        };
        params.signed_by(&self.0).expect("signed").pem().expect("it is PEM")
    }

    /// TLS of a caller with this certificate, or without one.
    fn caller(&self, identity: Option<Identity>) -> Option<ClientTls> {
        let roots = certificates_from_pem(self.0.pem().as_bytes()).expect("just made");
        let tls = ClientTls::new(&ClientTlsSettings {
            server_name: "localhost".to_owned(),
            trust: Trust::Roots(roots),
            identity,
            alpn: Vec::new(),
            resumption: SessionResumption::Tickets,
        });
        Some(tls.expect("the settings are right"))
    }
}

/// A server of this authority, whose callers have these rights by their certificates' names.
fn knowing(
    authority: &Authority,
    place: CertificateName,
    rows: &[(&str, HolderRights)],
) -> (Scene, ServerTls) {
    let tls = ServerTls::new(&authority.server(&[])).expect("the settings are right");
    let rows = rows.iter().map(|(name, rights)| ((*name).to_owned(), rights.clone()));
    let identities = Identities::new(place, rows).expect("the rights are right");
    (Scene::with(Some(tls.clone()), |keys| keys.with_identities(identities)), tls)
}

fn of_role(role: Role) -> HolderRights {
    HolderRights { roles: vec![role], ..HolderRights::default() }
}

#[test]
fn a_certificate_has_the_rights_of_its_name_and_others_have_none() {
    let authority = Authority::new();
    let imports = HolderRights {
        grants: vec!["queue.put:imports".parse().expect("a grant")],
        ..HolderRights::default()
    };
    let rows =
        [("resizer", of_role(Role::Worker)), ("billing", of_role(Role::Sender)), ("importer", imports)];
    let (scene, _) = knowing(&authority, CertificateName::CommonName, &rows);
    let caller = |name: &str| scene.caller(authority.caller(Some(authority.signs(name, 7, |_| {}))));
    assert_eq!(caller("resizer").puts(&[]), Ok(()));
    let reason = refused(caller("billing").puts(&[]));
    assert!(reason.starts_with("principal certificate:billing: "), "{reason}");
    // Its grant is for another queue.
    refused(caller("importer").puts(&[]));
    let reason = refused(caller("stranger").puts(&[]));
    assert_eq!(reason, "the certificate names \"stranger\", which is none of rpc.identities");
    refused(caller("Resizer").puts(&[]));
    let reason = refused(scene.caller(authority.caller(None)).puts(&[]));
    assert_eq!(reason, "queue/Put needs an API key, sent as a bearer token, or a client certificate");
}

#[test]
fn a_bearer_token_wins_over_the_certificate() {
    let authority = Authority::new();
    let (scene, _) = knowing(&authority, CertificateName::CommonName, &[("resizer", of_role(Role::Worker))]);
    let caller = scene.caller(authority.caller(Some(authority.signs("resizer", 7, |_| {}))));
    let viewer = NewKey { name: "v".to_owned(), roles: vec![Role::Viewer], ..NewKey::default() };
    let viewer = scene.keys.create(&viewer).expect("made");
    refused(caller.puts(&bearer(&viewer.secret)));
    refused(caller.puts(&bearer("sk_nobodys")));
    assert_eq!(caller.lists(&bearer(&viewer.secret)), Ok(()));
    assert_eq!(caller.puts(&[]), Ok(()));
}

#[test]
fn a_devices_request_has_no_part_in_the_rights_of_the_node_that_hands_it_on() {
    let authority = Authority::new();
    let (scene, _) = knowing(&authority, CertificateName::CommonName, &[("node", of_role(Role::Admin))]);
    let node = scene.caller(authority.caller(Some(authority.signs("node", 7, |_| {}))));
    assert_eq!(node.puts(&[]), Ok(()));
    assert_eq!(refused(node.puts(&of_device())), "queue/Put is not for devices");
}

#[test]
fn the_name_may_be_an_alternative_one_and_must_stand_there_once() {
    let authority = Authority::new();
    let (scene, _) = knowing(&authority, CertificateName::SanUri, &[("urn:resizer", of_role(Role::Worker))]);
    let uri = |text: &str| SanType::URI(text.try_into().expect("ASCII"));
    let caller = |uris: &[&str]| {
        let names: Vec<_> = uris.iter().map(|text| uri(text)).collect();
        let identity = authority.signs("x", 7, |params| params.subject_alt_names.extend(names));
        scene.caller(authority.caller(Some(identity)))
    };
    assert_eq!(caller(&["urn:resizer"]).puts(&[]), Ok(()));
    for uris in [&[][..], &["urn:resizer", "urn:other"]] {
        let reason = refused(caller(uris).puts(&[]));
        assert!(reason.contains("has not exactly one rpc.identity_name"), "{reason}");
    }
}

#[test]
fn a_revoked_certificate_opens_no_connection_and_no_ticket_helps_it() {
    let authority = Authority::new();
    let (scene, tls) =
        knowing(&authority, CertificateName::CommonName, &[("resizer", of_role(Role::Worker))]);
    let revoked = authority.caller(Some(authority.signs("resizer", 7, |_| {})));
    let good = authority.caller(Some(authority.signs("resizer", 8, |_| {})));
    // This connection leaves a ticket with the client.
    assert_eq!(scene.caller(revoked.clone()).puts(&[]), Ok(()));
    assert_eq!(scene.caller(revoked.clone()).puts(&[]), Ok(()));
    tls.reload(&authority.server(&[7])).expect("the settings are right");
    let put = scene.caller(revoked).puts(&[]);
    assert!(matches!(put, Err(CallError::Broken(_) | CallError::Unavailable(_))), "{put:?}");
    assert_eq!(scene.caller(good).puts(&[]), Ok(()));
}

#[test]
fn an_operators_certificate_operates_and_is_named_in_the_audit_log() {
    let authority = Authority::new();
    let rows = [("on-call", of_role(Role::Operator)), ("resizer", of_role(Role::Worker))];
    let (scene, _) = knowing(&authority, CertificateName::CommonName, &rows);
    let caller = |name: &str| scene.caller(authority.caller(Some(authority.signs(name, 7, |_| {}))));
    refused(caller("resizer").operates(&[]));
    assert_eq!(caller("on-call").operates(&[]), Ok(()));
    let log = scene.audit_log();
    let lines: Vec<_> = log.lines().filter(|line| line.contains("queue/log-level")).collect();
    let [denied, done] = lines[..] else { panic!("{log}") };
    assert!(denied.contains(r#""key":"certificate:resizer""#) && denied.contains("403"), "{denied}");
    assert!(done.contains(r#""key":"certificate:on-call""#) && done.contains("200"), "{done}");
}

#[test]
fn identities_that_mean_nothing_are_refused() {
    let one = |name: &str, rights| {
        Identities::new(CertificateName::CommonName, [(name.to_owned(), rights)]).err().unwrap_or_default()
    };
    assert!(one("", of_role(Role::Viewer)).contains("needs a name"));
    assert!(one("a", HolderRights::default()).contains("needs a role or a grant"));
    let apps = Some(vec!["no app".to_owned()]);
    let wrong = HolderRights { apps, ..of_role(Role::Sender) };
    assert!(one("a", wrong).contains("is no name of an app"));
}
