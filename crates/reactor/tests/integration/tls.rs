//! TLS against rustls' own buffered client and server: both versions, every suite, updates of keys,
//! large and tiny pieces, certificates of clients, reload, and peers that do wrong.

use crate::fixture;

use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use fixture::*;
use rcgen::{
    BasicConstraints, CertificateParams, CertificateRevocationListParams, CertifiedIssuer, IsCa, KeyIdMethod,
    KeyPair, KeyUsagePurpose, RevokedCertParams, date_time_ymd,
};
use rustls::{ClientConfig, ClientConnection, RootCertStore, ServerConfig, ServerConnection, StreamOwned};
use rustls_pki_types::{CertificateDer, CertificateRevocationListDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use stadium_reactor::tls::*;
use stadium_reactor::*;

struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    fn new() -> Authority {
        let mut params = CertificateParams::new(Vec::new()).expect("no names are fine");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let key = KeyPair::generate().expect("a key");
        Authority(CertifiedIssuer::self_signed(params, key).expect("an authority"))
    }

    fn root(&self) -> CertificateDer<'static> {
        self.0.der().clone()
    }

    fn identity(&self, name: &str) -> Identity {
        let key = KeyPair::generate().expect("a key");
        let params = CertificateParams::new(vec![name.to_owned()]).expect("a name");
        let certificate = params.signed_by(&key, &self.0).expect("signed");
        Identity {
            chain: vec![certificate.der().clone()],
            key: PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der())),
        }
    }

    /// One with this serial number.
    fn identity_with(&self, name: &str, serial: u64) -> Identity {
        let key = KeyPair::generate().expect("a key");
        let mut params = CertificateParams::new(vec![name.to_owned()]).expect("a name");
        params.serial_number = Some(serial.into());
        let certificate = params.signed_by(&key, &self.0).expect("signed");
        Identity {
            chain: vec![certificate.der().clone()],
            key: PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der())),
        }
    }

    /// A list with these serial numbers.
    fn revokes(&self, serials: &[u64]) -> CertificateRevocationListDer<'static> {
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
        params.signed_by(&self.0).expect("signed").der().clone()
    }

    fn roots(&self) -> RootCertStore {
        let mut roots = RootCertStore::empty();
        roots.add(self.root()).expect("a root");
        roots
    }

    fn server(&self) -> ServerTlsSettings {
        ServerTlsSettings {
            identity: self.identity("localhost"),
            client_certificates: ClientCertificates::None,
            alpn: Vec::new(),
        }
    }
}

fn secure(settings: &ServerTlsSettings) -> (ListenerSettings, ServerTls) {
    let tls = ServerTls::new(settings).expect("the settings are right");
    (ListenerSettings { tls: Some(tls.clone()), ..listener() }, tls)
}

fn provider(suite: Option<rustls::CipherSuite>) -> Arc<rustls::crypto::CryptoProvider> {
    let mut provider = rustls::crypto::ring::default_provider();
    if let Some(wanted) = suite {
        provider.cipher_suites.retain(|suite| suite.suite() == wanted);
    }
    Arc::new(provider)
}

fn client_config(authority: &Authority, suite: Option<rustls::CipherSuite>) -> ClientConfig {
    ClientConfig::builder_with_provider(provider(suite))
        .with_protocol_versions(&[version_of(suite)])
        .expect("the suite fits the version")
        .with_root_certificates(authority.roots())
        .with_no_client_auth()
}

fn is_modern(suite: rustls::CipherSuite) -> bool {
    format!("{suite:?}").starts_with("TLS13")
}

/// The version that speaks a suite; 1.3 where any will do.
fn version_of(suite: Option<rustls::CipherSuite>) -> &'static rustls::SupportedProtocolVersion {
    if suite.is_some_and(|suite| !is_modern(suite)) {
        &rustls::version::TLS12
    } else {
        &rustls::version::TLS13
    }
}

fn client_on(stream: TcpStream, config: Arc<ClientConfig>) -> StreamOwned<ClientConnection, TcpStream> {
    let name = "localhost".try_into().expect("a name");
    StreamOwned::new(ClientConnection::new(config, name).expect("a client"), stream)
}

fn suites() -> Vec<rustls::CipherSuite> {
    let all = rustls::crypto::ring::default_provider().cipher_suites;
    // The key of our certificates is an elliptic one.
    let names = all.iter().map(|suite| suite.suite());
    names.filter(|suite| !format!("{suite:?}").contains("RSA")).collect()
}

fn number(count: usize) -> Vec<u8> {
    (0..count).map(|place| (place % 251) as u8).collect()
}

/// Sends much in one direction while reading it back, and checks it.
fn exchange<S: Read + Write>(stream: &mut S, total: usize, piece: usize) {
    let sent = number(total);
    for part in sent.chunks(piece) {
        stream.write_all(part).expect("the peer reads");
        let mut got = vec![0; part.len()];
        stream.read_exact(&mut got).expect("the echo comes");
        assert!(got == part, "the echo is what was sent");
    }
}

#[test]
fn every_suite_of_both_versions_is_spoken_as_a_server() {
    let authority = Authority::new();
    let (settings, _) = secure(&authority.server());
    let server = start(Style::Echo, settings);
    let suites = suites();
    assert_eq!(suites.len(), 6, "{suites:?}");
    for suite in suites {
        let mut client = client_on(server.dial(), Arc::new(client_config(&authority, Some(suite))));
        exchange(&mut client, 400_000, 50_000);
        exchange(&mut client, 50, 1);
        assert_eq!(client.conn.negotiated_cipher_suite().map(|suite| suite.suite()), Some(suite));
        client.conn.send_close_notify();
        client.flush().expect("the close_notify leaves");
        assert_eq!(server.wait_closed().1, CloseReason::PeerClosed, "{suite:?}");
        // The server sends close_notify too, so that the end is no truncation.
        assert_eq!(client.read(&mut [0; 1]).expect("a clean end"), 0, "{suite:?}");
    }
}

#[test]
fn every_suite_of_both_versions_is_spoken_as_a_client() {
    let authority = Authority::new();
    let loops = start(Style::Report, listener());
    for suite in suites() {
        let identity = authority.identity("localhost");
        let config = ServerConfig::builder_with_provider(provider(Some(suite)))
            .with_protocol_versions(&[version_of(Some(suite))])
            .expect("the suite fits the version")
            .with_no_client_auth()
            .with_single_cert(identity.chain, identity.key)
            .expect("the key fits");
        let socket = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = socket.local_addr().expect("bound");
        let peer = std::thread::spawn(move || {
            let (stream, _) = socket.accept().expect("the loop connects");
            stream.set_read_timeout(Some(DEADLINE)).expect("a timeout can be set");
            let connection = ServerConnection::new(Arc::new(config)).expect("a server");
            let mut stream = StreamOwned::new(connection, stream);
            let mut got = vec![0; 300_000];
            stream.read_exact(&mut got).expect("the loop writes");
            stream.write_all(&got).expect("the loop reads");
            // New keys for what follows, and a request for the peer's.
            if stream.conn.protocol_version() == Some(rustls::ProtocolVersion::TLSv1_3) {
                stream.conn.refresh_traffic_keys().expect("TLS 1.3 can");
            }
            stream.write_all(b"under new keys").expect("the loop reads");
            let mut last = [0; 4];
            stream.read_exact(&mut last).expect("the loop answers");
            assert_eq!(&last, b"bye!");
            assert_eq!(stream.read(&mut [0; 1]).expect("a clean end"), 0);
        });
        let tls = ClientTls::new(&ClientTlsSettings {
            server_name: "localhost".to_owned(),
            trust: Trust::Roots(vec![authority.root()]),
            identity: None,
            alpn: Vec::new(),
            resumption: SessionResumption::Tickets,
        })
        .expect("the settings are right");
        let options = ConnectOptions { tls: Some(tls), tag: 5, ..ConnectOptions::default() };
        let id = loops.ask(move |io| io.connect(address, &options).expect("a socket"));
        loops.wait(|seen| (*seen == Seen::Connected(id, 5)).then_some(()));
        loops.act(move |io| io.send(id, |buffer| buffer.extend_from_slice(&number(300_000))));
        let got = loops.wait_received(300_014);
        assert!(got[..300_000] == number(300_000), "{suite:?}");
        assert_eq!(&got[300_000..], b"under new keys", "{suite:?}");
        loops.act(move |io| {
            io.send(id, |buffer| buffer.extend_from_slice(b"bye!"));
            io.close(id);
        });
        assert_eq!(loops.wait_closed(), (id, CloseReason::Asked));
        peer.join().expect("the peer is content");
    }
}

#[test]
fn keys_are_updated_when_the_client_asks() {
    let authority = Authority::new();
    let (settings, _) = secure(&authority.server());
    let server = start(Style::Echo, settings);
    let mut client = client_on(server.dial(), Arc::new(client_config(&authority, None)));
    for _ in 0..100 {
        exchange(&mut client, 20_000, 9_999);
        client.conn.refresh_traffic_keys().expect("TLS 1.3 can");
    }
    exchange(&mut client, 20_000, 9_999);
}

/// Forwards bytes one at a time, so that every record comes in as many pieces as it has bytes.
fn trickle(to: std::net::SocketAddr) -> TcpStream {
    let socket = TcpListener::bind("127.0.0.1:0").expect("a port");
    let near = TcpStream::connect(socket.local_addr().expect("bound")).expect("it listens");
    near.set_read_timeout(Some(DEADLINE)).expect("a timeout can be set");
    let (mut inner, _) = socket.accept().expect("the near end");
    let mut far = TcpStream::connect(to).expect("the server listens");
    far.set_nodelay(true).expect("nodelay can be set");
    let (mut back_in, mut back_out) =
        (far.try_clone().expect("a handle"), inner.try_clone().expect("a handle"));
    std::thread::spawn(move || {
        let mut buffer = [0; 4_096];
        while let Ok(count @ 1..) = inner.read(&mut buffer) {
            for byte in &buffer[..count] {
                if far.write_all(&[*byte]).is_err() {
                    return;
                }
            }
        }
        let _ = far.shutdown(std::net::Shutdown::Write);
    });
    std::thread::spawn(move || {
        let _ = std::io::copy(&mut back_in, &mut back_out);
        let _ = back_out.shutdown(std::net::Shutdown::Write);
    });
    near
}

#[test]
fn records_may_come_one_byte_at_a_time() {
    let authority = Authority::new();
    let (settings, _) = secure(&authority.server());
    let server = start(Style::Echo, settings);
    for suite in suites() {
        let mut client = client_on(trickle(server.address), Arc::new(client_config(&authority, Some(suite))));
        exchange(&mut client, 20_000, 7_000);
        client.conn.send_close_notify();
        client.flush().expect("the close_notify leaves");
        assert_eq!(server.wait_closed().1, CloseReason::PeerClosed, "{suite:?}");
    }
}

#[test]
fn both_directions_are_busy_at_once() {
    let authority = Authority::new();
    let (mut settings, _) = secure(&authority.server());
    settings.limits.write_queue_bytes_max = 64 * 1024 * 1024;
    let server = start(Style::Echo, settings);
    let client = start(Style::Report, listener());
    let tls = ClientTls::new(&ClientTlsSettings {
        server_name: "localhost".to_owned(),
        trust: Trust::Roots(vec![authority.root()]),
        identity: None,
        alpn: Vec::new(),
        resumption: SessionResumption::Off,
    })
    .expect("the settings are right");
    let mut options = ConnectOptions { tls: Some(tls), ..ConnectOptions::default() };
    options.limits.write_queue_bytes_max = 64 * 1024 * 1024;
    let address = server.address;
    let id = client.ask(move |io| io.connect(address, &options).expect("a socket"));
    client.wait(|seen| matches!(seen, Seen::Connected(..)).then_some(()));
    client.act(move |io| io.send(id, |buffer| buffer.extend_from_slice(&number(20_000_000))));
    assert!(client.wait_received(20_000_000) == number(20_000_000));
}

#[test]
fn a_client_certificate_is_shown_to_the_handler() {
    let authority = Authority::new();
    let device = authority.identity("device-7");
    let settings = ServerTlsSettings {
        client_certificates: ClientCertificates::Required(vec![authority.root()].into()),
        ..authority.server()
    };
    let (settings, _) = secure(&settings);
    let server = start(Style::Echo, settings);
    for version in [&rustls::version::TLS12, &rustls::version::TLS13] {
        let config = ClientConfig::builder_with_provider(provider(None))
            .with_protocol_versions(&[version])
            .expect("a version")
            .with_root_certificates(authority.roots());
        let good = config
            .clone()
            .with_client_auth_cert(device.chain.clone(), device.key.clone_key())
            .expect("the key fits");
        let mut client = client_on(server.dial(), Arc::new(good));
        exchange(&mut client, 1_000, 1_000);
        let shown = server
            .wait(|seen| if let Seen::Established(_, shown) = seen { Some(shown.clone()) } else { None });
        assert_eq!(shown.as_deref(), Some(device.chain[0].as_ref()));
        drop(client);
        server.wait_closed();

        let mut nobody = client_on(server.dial(), Arc::new(config.clone().with_no_client_auth()));
        let _ = nobody.write_all(b"hello");
        let error = nobody.read(&mut [0; 1]).expect_err("nobody gets nothing");
        assert!(error.to_string().contains("CertificateRequired"), "{error}");
        assert_eq!(server.wait_closed().1, CloseReason::Tls(116));

        let stranger = Authority::new().identity("device-7");
        let config = config.with_client_auth_cert(stranger.chain, stranger.key).expect("the key fits");
        let mut stranger = client_on(server.dial(), Arc::new(config));
        let _ = stranger.write_all(b"hello");
        assert!(stranger.read(&mut [0; 1]).is_err());
        assert!(matches!(server.wait_closed().1, CloseReason::Tls(_)));
    }
}

#[test]
fn a_reload_reaches_new_handshakes_and_leaves_open_connections() {
    let (old, new) = (Authority::new(), Authority::new());
    let (settings, tls) = secure(&old.server());
    let server = start(Style::Echo, settings);
    let mut before = client_on(server.dial(), Arc::new(client_config(&old, None)));
    exchange(&mut before, 100, 100);
    tls.reload(&new.server()).expect("the settings are right");
    exchange(&mut before, 100, 100);
    let mut after = client_on(server.dial(), Arc::new(client_config(&new, None)));
    exchange(&mut after, 100, 100);
    let mut late = client_on(server.dial(), Arc::new(client_config(&old, None)));
    assert!(late.write_all(b"hello").is_err());
    let broken = ServerTlsSettings {
        identity: Identity { chain: old.identity("localhost").chain, key: new.identity("localhost").key },
        ..old.server()
    };
    assert!(tls.reload(&broken).is_err(), "a key of another certificate is refused");
    exchange(&mut client_on(server.dial(), Arc::new(client_config(&new, None))), 100, 100);
}

#[test]
fn a_session_is_resumed_by_its_ticket() {
    let authority = Authority::new();
    let (settings, _) = secure(&authority.server());
    let server = start(Style::Echo, settings);
    for suite in suites() {
        let config = Arc::new(client_config(&authority, Some(suite)));
        let mut kinds = Vec::new();
        for _ in 0..2 {
            let mut client = client_on(server.dial(), config.clone());
            exchange(&mut client, 100, 100);
            kinds.push(client.conn.handshake_kind());
        }
        assert_eq!(
            kinds,
            [Some(rustls::HandshakeKind::Full), Some(rustls::HandshakeKind::Resumed)],
            "{suite:?}"
        );
    }
}

#[test]
fn no_ticket_outlives_the_authorities_and_revocation_lists_it_was_issued_under() {
    let (authority, other) = (Authority::new(), Authority::new());
    let device = authority.identity_with("device-7", 7);
    let asking = |authorities: Authorities| ServerTlsSettings {
        client_certificates: ClientCertificates::Required(authorities),
        ..authority.server()
    };
    let trusted = Authorities::from(vec![authority.root()]);
    let withdrawn = Authorities::from(vec![other.root()]);
    let revoked = Authorities { revocation_lists: vec![authority.revokes(&[7])], ..trusted.clone() };
    let others_revoked = Authorities { revocation_lists: vec![authority.revokes(&[8])], ..trusted.clone() };
    let (settings, tls) = secure(&asking(trusted.clone()));
    let server = start(Style::Echo, settings);
    for version in [&rustls::version::TLS12, &rustls::version::TLS13] {
        let config = ClientConfig::builder_with_provider(provider(None))
            .with_protocol_versions(&[version])
            .expect("a version")
            .with_root_certificates(authority.roots())
            .with_client_auth_cert(device.chain.clone(), device.key.clone_key())
            .expect("the key fits");
        let config = Arc::new(config);
        let come = || {
            let mut client = client_on(server.dial(), config.clone());
            client.write_all(b"hello").ok()?;
            client.read_exact(&mut [0; 5]).ok()?;
            client.conn.handshake_kind()
        };
        assert_eq!(come(), Some(rustls::HandshakeKind::Full));
        assert_eq!(come(), Some(rustls::HandshakeKind::Resumed));
        tls.reload(&asking(trusted.clone())).expect("good settings");
        assert_eq!(come(), Some(rustls::HandshakeKind::Resumed), "nothing has changed for clients");
        for bad in [&withdrawn, &revoked] {
            tls.reload(&asking(bad.clone())).expect("good settings");
            assert_eq!(come(), None, "{bad:?}");
            tls.reload(&asking(trusted.clone())).expect("good settings");
            assert_eq!(come(), Some(rustls::HandshakeKind::Full));
        }
        tls.reload(&asking(others_revoked.clone())).expect("good settings");
        assert_eq!(come(), Some(rustls::HandshakeKind::Full), "another certificate was revoked");
        tls.reload(&asking(trusted.clone())).expect("good settings");
    }
}

#[test]
fn fragments_of_a_handshake_hold_four_kilobytes_at_most() {
    let authority = Authority::new();
    let (settings, _) = secure(&authority.server());
    let server = start(Style::Echo, settings);
    let mut client = server.dial();
    // Records of a ClientHello of 60 KB, which does not end.
    let hello = [&[1, 0, 0xea, 0x60][..], &[3, 3], &[7; 32], &[0, 0, 2]].concat();
    let mut sent = 0;
    let mut fragment = hello;
    fragment.resize(1_000, 0);
    for _ in 0..60 {
        let record = [&[22, 3, 1, 3, 0xe8][..], &fragment].concat();
        if client.write_all(&record).is_err() {
            break;
        }
        sent += fragment.len();
        fragment.fill(0);
        let held = server.handle.stats().carry_bytes.value();
        assert!(held <= 8 * 1024, "{held} bytes are held after {sent}");
    }
    assert!(matches!(server.wait_closed().1, CloseReason::Tls(_)));
}

#[test]
fn what_is_no_tls_gets_an_alert() {
    let authority = Authority::new();
    let (settings, _) = secure(&authority.server());
    let server = start(Style::Echo, settings);
    let mut client = server.dial();
    client.write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n").expect("the loop reads");
    let mut got = Vec::new();
    client.read_to_end(&mut got).expect("the end comes in order");
    assert!(matches!(got[..], [21, 3, _, 0, 2, 2, _]), "{got:?}");
    assert!(matches!(server.wait_closed().1, CloseReason::Tls(_)));
}

#[test]
fn a_handshake_that_never_ends_meets_its_time() {
    let authority = Authority::new();
    let (mut settings, _) = secure(&authority.server());
    settings.handshake_timeout_ms = 150;
    let server = start(Style::Echo, settings);
    let _client = server.dial();
    assert_eq!(server.wait_closed().1, CloseReason::HandshakeTimeout);
    until("nothing is under way", || server.handle.stats().handshakes.value() == 0);
}

/// Lets bytes through, and turns over one bit on request.
struct Meddler {
    stream: TcpStream,
    after: Arc<AtomicUsize>,
}

impl Read for Meddler {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        self.stream.read(buffer)
    }
}

impl Write for Meddler {
    fn write(&mut self, buffer: &[u8]) -> std::io::Result<usize> {
        let mut bytes = buffer.to_vec();
        if self.after.swap(0, Ordering::Relaxed) == 1
            && let Some(last) = bytes.last_mut()
        {
            *last ^= 1;
        }
        self.stream.write_all(&bytes)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.stream.flush()
    }
}

#[test]
fn a_record_that_was_changed_on_the_way_ends_the_connection() {
    let authority = Authority::new();
    let (settings, _) = secure(&authority.server());
    let server = start(Style::Echo, settings);
    for suite in suites() {
        let after = Arc::new(AtomicUsize::new(0));
        let meddler = Meddler { stream: server.dial(), after: after.clone() };
        let name = "localhost".try_into().expect("a name");
        let config = Arc::new(client_config(&authority, Some(suite)));
        let mut client = StreamOwned::new(ClientConnection::new(config, name).expect("a client"), meddler);
        exchange(&mut client, 1_000, 1_000);
        after.store(1, Ordering::Relaxed);
        client.write_all(b"changed").expect("the loop reads");
        let error = client.read(&mut [0; 1]).expect_err("no echo of it");
        assert!(
            error.kind() == ErrorKind::InvalidData && error.to_string().contains("BadRecordMac"),
            "{error}"
        );
        assert_eq!(server.wait_closed().1, CloseReason::Tls(20), "{suite:?}");
    }
}

#[test]
fn a_tls_connection_moves_to_another_loop() {
    let authority = Authority::new();
    let (settings, _) = secure(&authority.server());
    let first = start(Style::Report, settings);
    let second = start(Style::Echo, listener());
    let mut client = client_on(first.dial(), Arc::new(client_config(&authority, None)));
    client.write_all(b"hello").expect("the loop reads");
    let id = first.wait_established();
    assert_eq!(first.wait_received(5), b"hello");
    let to = second.handle.clone();
    first.act(move |io| io.handoff(id, &to, Order::Number(1)));
    second.wait(|seen| matches!(seen, Seen::Adopted(_, 1)).then_some(()));
    exchange(&mut client, 100_000, 30_000);
}

#[test]
fn websocket_over_tls_carries_the_stream_between_loops() {
    let authority = Authority::new();
    let (mut settings, _) = secure(&authority.server());
    settings.websocket = Some(Arc::new(WebSocketSettings::default()));
    settings.limits.write_queue_bytes_max = 64 * 1024 * 1024;
    let plain = ListenerSettings { tls: None, ..settings.clone() };
    for settings in [settings, plain] {
        let secure = settings.tls.is_some();
        let server = start(Style::Echo, settings);
        let client = start(Style::Report, listener());
        let tls = ClientTls::new(&ClientTlsSettings {
            server_name: "localhost".to_owned(),
            trust: Trust::Anybody,
            identity: None,
            alpn: Vec::new(),
            resumption: SessionResumption::Tickets,
        })
        .expect("the settings are right");
        let mut options = ConnectOptions {
            tls: secure.then_some(tls),
            websocket: Some(Arc::new(WebSocketRequest {
                host: "localhost".to_owned(),
                path: "/mqtt".to_owned(),
                subprotocol: Some("mqtt".to_owned()),
                ..WebSocketRequest::default()
            })),
            ..ConnectOptions::default()
        };
        options.limits.write_queue_bytes_max = 64 * 1024 * 1024;
        let address = server.address;
        let wrong = ConnectOptions {
            websocket: Some(Arc::new(WebSocketRequest {
                host: "localhost".to_owned(),
                path: "/elsewhere".to_owned(),
                ..WebSocketRequest::default()
            })),
            ..options.clone()
        };
        let id = client.ask(move |io| io.connect(address, &options).expect("a socket"));
        client.wait(|seen| matches!(seen, Seen::Connected(..)).then_some(()));
        client.act(move |io| io.send(id, |buffer| buffer.extend_from_slice(b"first")));
        assert_eq!(client.wait_received(5), b"first");
        client.act(move |io| io.send(id, |buffer| buffer.extend_from_slice(&number(9_000_000))));
        assert!(client.wait_received(9_000_000) == number(9_000_000));
        client.act(move |io| io.close(id));
        assert_eq!(client.wait_closed(), (id, CloseReason::Asked));
        assert_eq!(server.wait_closed().1, CloseReason::PeerClosed);
        let id = client.ask(move |io| io.connect(address, &wrong).expect("a socket"));
        assert_eq!(client.wait_closed(), (id, CloseReason::Upgrade));
        assert_eq!(server.wait_closed().1, CloseReason::Upgrade);
    }
}

/// Keeps what is written, so that it can be spoiled before it is sent.
#[derive(Default)]
struct Flights(Vec<u8>);

fn hello(authority: &Authority, version: &'static rustls::SupportedProtocolVersion) -> Vec<u8> {
    let config = ClientConfig::builder_with_provider(provider(None))
        .with_protocol_versions(&[version])
        .expect("a version")
        .with_root_certificates(authority.roots())
        .with_no_client_auth();
    let name = "localhost".try_into().expect("a name");
    let mut flights = Flights::default();
    ClientConnection::new(Arc::new(config), name)
        .expect("a client")
        .write_tls(&mut flights.0)
        .expect("memory takes it");
    flights.0
}

/// A small generator of our own, so that a failure repeats.
fn next(seed: &mut u64) -> usize {
    *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*seed >> 33) as usize
}

#[test]
fn whatever_comes_as_a_handshake_the_loop_lives() {
    let authority = Authority::new();
    let (settings, _) = secure(&authority.server());
    let server = start(Style::Echo, settings);
    let mut seed = 11;
    for round in 0..400 {
        let version = if round % 2 == 0 { &rustls::version::TLS13 } else { &rustls::version::TLS12 };
        let mut bytes = hello(&authority, version);
        if round % 5 == 0 {
            bytes.extend(hello(&authority, version));
        }
        for _ in 0..round % 4 {
            let place = next(&mut seed) % bytes.len();
            bytes[place] = next(&mut seed) as u8;
        }
        let tail = next(&mut seed) % 60;
        bytes.extend((0..tail).map(|_| next(&mut seed) as u8));
        bytes.truncate(1 + next(&mut seed) % bytes.len());
        let mut client = server.dial();
        let cut = next(&mut seed) % bytes.len();
        // The loop may have closed before the second half: that is one of its answers.
        let _ = client.write_all(&bytes[..cut]).and_then(|()| client.write_all(&bytes[cut..]));
        drop(client);
        server.wait_closed();
    }
    exchange(&mut client_on(server.dial(), Arc::new(client_config(&authority, None))), 100, 100);
    until("nothing is under way", || server.handle.stats().handshakes.value() == 0);
}

#[test]
fn a_spoiled_second_flight_ends_the_handshake() {
    let authority = Authority::new();
    let (settings, _) = secure(&authority.server());
    let server = start(Style::Echo, settings);
    for suite in suites() {
        let after = Arc::new(AtomicUsize::new(0));
        let meddler = Meddler { stream: server.dial(), after: after.clone() };
        let name = "localhost".try_into().expect("a name");
        let config = Arc::new(client_config(&authority, Some(suite)));
        let mut connection = ClientConnection::new(config, name).expect("a client");
        let mut meddler = meddler;
        connection.write_tls(&mut meddler).expect("the loop reads");
        after.store(1, Ordering::Relaxed);
        let _ = connection.complete_io(&mut meddler).and_then(|_| {
            connection.writer().write_all(b"hello")?;
            connection.complete_io(&mut meddler)
        });
        assert!(matches!(server.wait_closed().1, CloseReason::Tls(_) | CloseReason::PeerClosed), "{suite:?}");
    }
}
