//! Fuzz body for records of an open TLS connection: a peer with the right keys that seals data as
//! the input directs, flips bits, and puts bytes of its own between the records.
//!
//! ```text
//! version | piece bytes | steps: 0 seal, 1 seal and flip a bit, 2 raw bytes | kind | length | bytes
//! ```

use std::cell::RefCell;
use std::sync::Arc;

use rcgen::{CertificateParams, KeyPair};
use rustls::client::UnbufferedClientConnection;
use rustls::{ClientConfig, RootCertStore};
use rustls_pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer, ServerName};

use super::{End, KeyCache, Records, content};
use crate::tls::{ClientCertificates, Handshake, Identity, Progress, ServerTls, ServerTlsSettings};

/// A client and a server after their handshake, and the directions that an input starts from.
struct Pair {
    server: Box<Records>,
    client: Box<Records>,
    epochs: (u32, u32),
}

struct Setup {
    keys: KeyCache,
    tls: ServerTls,
    roots: RootCertStore,
    /// By version: TLS 1.3, TLS 1.2.
    pairs: [Option<Pair>; 2],
    serial: u64,
}

thread_local! {
    static SETUP: RefCell<Setup> = RefCell::new(Setup::new());
}

impl Setup {
    fn new() -> Setup {
        let key = KeyPair::generate().expect("a key");
        let names = vec!["localhost".to_owned()];
        let certificate =
            CertificateParams::new(names).expect("a name").self_signed(&key).expect("it signs itself");
        let mut roots = RootCertStore::empty();
        roots.add(certificate.der().clone()).expect("a root");
        let identity = Identity {
            chain: vec![certificate.der().clone()],
            key: PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der())),
        };
        let settings =
            ServerTlsSettings { identity, client_certificates: ClientCertificates::None, alpn: Vec::new() };
        let tls = ServerTls::new(&settings).expect("key and certificate match");
        Setup { keys: KeyCache::new(), tls, roots, pairs: [None, None], serial: 0 }
    }

    /// A pair whose sequence numbers are at their start. Handshakes are dear: a pair serves many inputs,
    /// until one of them updates its keys.
    fn pair(&mut self, version: usize) -> Pair {
        if let Some(mut pair) = self.pairs[version].take()
            && pair.rewind()
        {
            return pair;
        }
        self.serial += 2;
        handshake(&self.tls, &self.roots, version, self.serial)
    }
}

impl Pair {
    /// Goes back to the state after the handshake; not possible once a key has changed.
    fn rewind(&mut self) -> bool {
        let back = |records: &mut Records, epoch: u32| {
            let same = records.received.epoch == epoch && records.sent.epoch == epoch;
            (records.empty, records.updates) = (0, 0);
            records.message.clear();
            same
        };
        let (client, server) = self.epochs;
        let same = back(&mut self.client, client) && back(&mut self.server, server);
        // Only the client seals: from where the server expects it.
        self.client.sent.sequence = self.server.received.sequence;
        same
    }
}

fn handshake(tls: &ServerTls, roots: &RootCertStore, version: usize, serial: u64) -> Pair {
    let versions = [&rustls::version::TLS13, &rustls::version::TLS12];
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[versions[version]])
        .expect("a version of the provider")
        .with_root_certificates(roots.clone())
        .with_no_client_auth();
    config.enable_secret_extraction = true;
    let name = ServerName::try_from("localhost").expect("a name");
    let connection =
        UnbufferedClientConnection::new(Arc::new(config), name).expect("the configuration is right");
    let mut client = Some(Handshake::Client(Box::new(connection)));
    let mut server = Some(Handshake::server(tls).expect("the configuration is right"));
    let (mut open_client, mut open_server) = (None, None);
    let (mut to_client, mut to_server) = (Vec::new(), Vec::new());
    for _ in 0..10 {
        step(&mut client, &mut open_client, &mut to_client, &mut to_server, serial);
        step(&mut server, &mut open_server, &mut to_server, &mut to_client, serial + 1);
        if let (Some(_), Some(_)) = (&open_client, &open_server) {
            break;
        }
    }
    let client: Box<Records> = open_client.expect("the handshake ends in a few flights");
    let server: Box<Records> = open_server.expect("the handshake ends in a few flights");
    let epochs = (client.received.epoch, server.received.epoch);
    Pair { server, client, epochs }
}

fn step(
    side: &mut Option<Handshake>,
    open: &mut Option<Box<Records>>,
    input: &mut Vec<u8>,
    output: &mut Vec<u8>,
    serial: u64,
) {
    let Some(handshake) = side.take() else { return };
    let (progress, step) = handshake.advance(input, serial);
    input.drain(..step.consumed);
    output.extend_from_slice(&step.out);
    match progress {
        Progress::Waiting(handshake) => *side = Some(handshake),
        Progress::Done(records, _) => *open = Some(records),
        Progress::Failed(alert) => panic!("the handshake ended with alert {alert}"),
    }
}

/// Lets a peer seal and send as `data` directs. The server must open exactly the data that was
/// sealed with the right keys before the first mistake. Returns whether there was none.
pub fn tls_records(data: &[u8]) -> bool {
    SETUP.with_borrow_mut(|setup| {
        let [version, piece_bytes, steps @ ..] = data else { return false };
        let version = usize::from(version & 1);
        let mut pair = setup.pair(version);
        let start = pair.server.received.sequence;
        let (sent, mut expected, mistake) = sealed(&mut setup.keys, &mut pair.client, steps);
        let (mut opened, mut waiting, mut reply) = (Vec::new(), Vec::new(), Vec::new());
        let mut end = End::Open;
        for piece in sent.chunks(usize::from(*piece_bytes) * 8 + 1) {
            waiting.extend_from_slice(piece);
            let read = pair.server.open(&mut setup.keys, &mut waiting, &mut reply);
            assert!(read.plain <= read.consumed && read.consumed <= waiting.len());
            opened.extend_from_slice(&waiting[..read.plain]);
            waiting.drain(..read.consumed);
            end = read.end;
            if end != End::Open {
                break;
            }
        }
        expected.truncate(opened.len());
        assert!(opened == expected, "what was opened is not what was sealed");
        let good = !mistake && end == End::Open;
        pair.server.received.sequence = start;
        setup.pairs[version] = Some(pair);
        good
    })
}

/// What the peer sends, the data among it, and whether it did anything that ends the connection by itself.
fn sealed(keys: &mut KeyCache, client: &mut Records, mut steps: &[u8]) -> (Vec<u8>, Vec<u8>, bool) {
    let (mut sent, mut data, mut mistake) = (Vec::new(), Vec::new(), false);
    while let [how, kind, length, rest @ ..] = steps {
        let (bytes, rest) = rest.split_at(usize::from(*length).min(rest.len()));
        steps = rest;
        let from = sent.len();
        match how % 3 {
            0 => {
                client.seal_one(keys, *kind, bytes, &mut sent);
                if !mistake && let Some(text) = text(client.modern, *kind, bytes) {
                    data.extend_from_slice(text);
                }
            }
            1 => {
                client.seal_one(keys, *kind, bytes, &mut sent);
                let at = from + usize::from(*length) % (sent.len() - from);
                sent[at] ^= 1 << (kind % 8);
                mistake = true;
            }
            _ => {
                sent.extend_from_slice(bytes);
                mistake |= !bytes.is_empty();
            }
        }
    }
    (sent, data, mistake)
}

/// The data in a record. In TLS 1.3 zeros behind the type are padding (RFC 8446, 5.4): where the type is
/// zero, the last byte of the text that is not is the type.
fn text(modern: bool, kind: u8, bytes: &[u8]) -> Option<&[u8]> {
    let (kind, text) = match bytes.iter().rposition(|byte| *byte != 0) {
        Some(last) if modern && kind == 0 => (bytes[last], &bytes[..last]),
        _ => (kind, bytes),
    };
    (kind == content::DATA).then_some(text)
}
