//! TLS to a real memcached.
//!
//! Operations work as without it, and each way to fail is an error of its own.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    date_time_ymd,
};
use stadium_memcache::protocol::Dialect;
use stadium_memcache::{
    Authorities, Client, ClientCertificate, Config, Ending, Error, Expiry, TlsConfig, TlsError,
};
use tempfile::TempDir;

use crate::memcached::{Memcached, SOON};
use crate::operations::every_operation;

const NEVER: Expiry = Expiry::Never;

type Authority = CertifiedIssuer<'static, KeyPair>;

fn authority(folder: &Path, name: &str) -> Authority {
    let mut parameters = CertificateParams::new(Vec::new()).unwrap();
    parameters.distinguished_name.push(DnType::CommonName, "an authority");
    parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(parameters, KeyPair::generate().unwrap()).unwrap();
    fs::write(folder.join(name), authority.pem()).unwrap();
    authority
}

/// A certificate for a name, valid in these years, and its key: NAME.pem and NAME.key.
fn certificate(folder: &Path, file: &str, authority: &Authority, name: &str, years: [i32; 2]) {
    let mut parameters = CertificateParams::new([name.to_owned()]).unwrap();
    parameters.not_before = date_time_ymd(years[0], 1, 1);
    parameters.not_after = date_time_ymd(years[1], 1, 1);
    parameters.extended_key_usages =
        vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
    let key = KeyPair::generate().unwrap();
    let certificate = parameters.signed_by(&key, authority).unwrap();
    fs::write(folder.join(format!("{file}.pem")), certificate.pem()).unwrap();
    fs::write(folder.join(format!("{file}.key")), key.serialize_pem()).unwrap();
}

const VALID: [i32; 2] = [2020, 2100];

fn trusting(folder: &Path) -> TlsConfig {
    TlsConfig { authorities: Authorities::File(folder.join("authority.pem")), ..TlsConfig::default() }
}

/// A server with a certificate for 127.0.0.1, and what an authority needs to go on.
fn server(more: &str) -> (Memcached, Authority) {
    server_of(VALID, more)
}

/// The same with a certificate for these years.
fn server_of(years: [i32; 2], more: &str) -> (Memcached, Authority) {
    let folder = tempfile::tempdir().unwrap();
    let authority = authority(folder.path(), "authority.pem");
    certificate(folder.path(), "server", &authority, "127.0.0.1", years);
    certificate(folder.path(), "client", &authority, "client", VALID);
    (start(folder, "server", more), authority)
}

fn start(folder: TempDir, name: &str, more: &str) -> Memcached {
    let path = |ending: &str| folder.path().join(format!("{name}.{ending}")).display().to_string();
    let options = format!("ssl_chain_cert={},ssl_key={}{more}", path("pem"), path("key"));
    Memcached::special(&["-Z", "-o", &options], folder, |folder, config| {
        let client_certificate =
            Some(ClientCertificate { chain: folder.join("client.pem"), key: folder.join("client.key") });
        let tls = TlsConfig { client_certificate, ..trusting(folder) };
        Config { tls: Some(tls), ..config }
    })
}

fn failure(address: &str, tls: TlsConfig) -> Error {
    let config = Config { tls: Some(tls), ..Config::for_servers([address]).unwrap() };
    let client = Client::with(config).unwrap();
    let begun = Instant::now();
    let error = client.get("k").unwrap_err();
    assert!(begun.elapsed() < Duration::from_secs(2), "it ends by its deadline");
    assert!(client.set("k", "v", NEVER).is_err(), "it fails until the next try");
    error
}

#[test]
fn every_operation_works_over_tls_in_both_dialects() {
    for dialect in [Dialect::Meta, Dialect::Classic] {
        let (server, _) = server("");
        every_operation(&Client::with(Config { dialect: Some(dialect), ..server.config() }).unwrap());
    }
    let (server, _) = server("");
    // By a name of its own, and many callers with values of many records.
    let tls = TlsConfig { server_name: Some("127.0.0.1".into()), ..trusting(server.file("").as_path()) };
    let client = Client::with(Config { tls: Some(tls), ..server.config() }).unwrap();
    thread::scope(|scope| {
        for caller in 0..8_usize {
            let client = &client;
            scope.spawn(move || {
                for round in 0..50_usize {
                    let value = vec![caller as u8; (round * 4_001) % 200_000];
                    let key = format!("{caller}:{}", round % 5);
                    client.set(&key, &value, NEVER).unwrap().ignore();
                    assert_eq!(client.get(&key).unwrap().unwrap().bytes, value);
                }
            });
        }
    });
}

#[test]
fn certificates_that_are_not_right_are_typed_errors() {
    let (valid, _) = server("");
    let other = tempfile::tempdir().unwrap();
    authority(other.path(), "authority.pem");
    let wrong_authority = trusting(other.path());
    assert_eq!(failure(&valid.address, wrong_authority), Error::Tls(TlsError::UnknownAuthority));
    assert_eq!(failure(&valid.address, TlsConfig::default()), Error::Tls(TlsError::UnknownAuthority));
    let name = TlsConfig { server_name: Some("cache.example".into()), ..trusting(&valid.file("")) };
    assert_eq!(failure(&valid.address, name), Error::Tls(TlsError::WrongName));

    for (years, error) in [([2001, 2002], TlsError::Expired), ([2099, 2100], TlsError::NotYetValid)] {
        let (server, _) = server_of(years, "");
        assert_eq!(failure(&server.address, trusting(&server.file(""))), Error::Tls(error));
    }
}

#[test]
fn a_server_without_tls_and_a_client_without_it_are_errors() {
    let plain = Memcached::tcp(&[]);
    let (secured, _) = server("");
    let tls = trusting(&secured.file(""));
    assert_eq!(failure(&plain.address, tls), Error::Tls(TlsError::NotTls));
    let client = Client::new([&secured.address]).unwrap();
    assert!(matches!(client.get("k"), Err(Error::Disconnected(_))));
    // Unix sockets have none.
    let unix = Memcached::unix(&[]);
    let client = Client::with(Config { tls: Some(TlsConfig::default()), ..unix.config() }).unwrap();
    client.set("k", "v", NEVER).unwrap().wait().unwrap();
}

#[test]
fn a_server_that_asks_for_a_certificate_gets_it_or_refuses() {
    let folder = tempfile::tempdir().unwrap();
    let authority = authority(folder.path(), "authority.pem");
    certificate(folder.path(), "server", &authority, "127.0.0.1", VALID);
    certificate(folder.path(), "client", &authority, "client", VALID);
    let path = folder.path().join("authority.pem").display().to_string();
    let server = start(folder, "server", &format!(",ssl_verify_mode=2,ssl_ca_cert={path}"));
    server.client().set("k", "v", NEVER).unwrap().wait().unwrap();
    let error = failure(&server.address, trusting(&server.file("")));
    assert!(matches!(error, Error::Tls(TlsError::Refused(_))), "{error:?}");
}

#[test]
fn files_that_cannot_be_read_are_errors_of_the_settings() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("empty.pem"), "").unwrap();
    authority(folder.path(), "authority.pem");
    for name in ["missing.pem", "empty.pem"] {
        let authorities = Authorities::File(folder.path().join(name));
        let tls = TlsConfig { authorities, ..TlsConfig::default() };
        let result = Client::with(Config { tls: Some(tls), ..Config::for_servers(["cache"]).unwrap() });
        assert!(matches!(result.map(drop), Err(Error::Config(text)) if text.contains(name)));
    }
    let tls = TlsConfig { server_name: Some("not a name".into()), ..trusting(folder.path()) };
    let result = Client::with(Config { tls: Some(tls), ..Config::for_servers(["cache"]).unwrap() });
    assert!(matches!(result.map(drop), Err(Error::Config(_))));
}

#[test]
fn a_tls_server_that_is_paused_takes_all_writes_later_and_a_killed_one_is_found_again() {
    let (mut server, _) = server("");
    let config = Config { stall: Duration::from_secs(30), timeout: SOON, ..server.config() };
    let client = Client::with(Config { unsent_bytes_max: 16 << 20, ..config }).unwrap();
    client.connect().unwrap();
    server.pause();
    let impatient = client.with_timeout(Duration::from_millis(30));
    assert_eq!(impatient.get("k"), Err(Error::Timeout));
    // More than all buffers of sockets and of the session take.
    let value = vec![7; 100_000];
    let pending: Vec<_> =
        (0..100).map(|number| client.set(format!("k{number}"), &value, NEVER).unwrap()).collect();
    assert_eq!(impatient.get("k"), Err(Error::Timeout));
    server.resume();
    pending.into_iter().for_each(|one| one.wait().unwrap());
    assert_eq!(client.get("k99").unwrap().unwrap().bytes, value);
    server.kill();
    assert!(client.get("k").is_err());
    server.restart();
    let begun = Instant::now();
    while client.get("k").is_err() {
        assert!(begun.elapsed() < SOON);
        thread::sleep(Duration::from_millis(2));
    }
    let figures = client.metrics().servers.remove(0).figures;
    assert_eq!(figures.connects, 2);
    assert!(figures.ended(Ending::Disconnected) > 0);
}
