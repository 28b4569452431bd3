//! Callers of a running server's RPC port by tokens and certificates: keys at a URL, and a
//! revocation list.
//!
//! The caller is `stadium service call`, and the provider of keys is the suite's own.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, Result, bail, ensure};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rcgen::{KeyPair, SigningKey as _};
use serde_json::{Value, json};
use stadium_testing::certificates::{Authority, Identity};
use stadium_testing::deadline::{PATIENCE, until_true};
use stadium_testing::process::Signal;
use stadium_testing::server::{Access, Plan, Server, binary};
use tempfile::TempDir;

/// A private key that signs tokens (Ed25519), and the id that they name it by.
struct Signer {
    kid: &'static str,
    key: KeyPair,
}

impl Signer {
    fn new(kid: &'static str) -> Result<Self> {
        Ok(Self { kid, key: KeyPair::generate_for(&rcgen::PKCS_ED25519)? })
    }

    /// A token of Ann, a member of this group.
    fn sign(&self, group: &str) -> Result<String> {
        let part = |json: Value| URL_SAFE_NO_PAD.encode(json.to_string());
        let expires = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs() + 600;
        let claims = json!({
            "iss": "https://id.example.org", "aud": "stadium-rpc", "sub": "ann", "exp": expires,
            "groups": [group],
        });
        let message = format!("{}.{}", part(json!({ "alg": "EdDSA", "kid": self.kid })), part(claims));
        let signature = URL_SAFE_NO_PAD.encode(self.key.sign(message.as_bytes())?);
        Ok(format!("{message}.{signature}"))
    }

    /// The set of its public key alone.
    fn set(&self) -> String {
        let public = URL_SAFE_NO_PAD.encode(self.key.public_key_raw());
        let key = json!({ "kty": "OKP", "crv": "Ed25519", "kid": self.kid, "x": public });
        json!({ "keys": [key] }).to_string()
    }
}

/// Serves a set of keys, which the test replaces, for as long as the test's process lasts.
fn publish(set: &Arc<Mutex<String>>) -> Result<String> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let url = format!("http://{}/keys", listener.local_addr()?);
    let set = Arc::clone(set);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let mut reader = BufReader::new(stream);
            let mut line = String::new();
            while reader.read_line(&mut line).unwrap_or(0) > 0 && line != "\r\n" {
                line.clear();
            }
            let body = set.lock().map(|set| set.clone()).unwrap_or_default();
            let head = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length:";
            // A fetch that was given up needs no answer.
            let _ = write!(reader.get_mut(), "{head} {}\r\n\r\n{body}", body.len());
        }
    });
    Ok(url)
}

struct Scene {
    server: Server,
    authority: Authority,
    address: String,
    folder: TempDir,
}

impl Scene {
    fn start(url: &str) -> Result<Self> {
        let authority = Authority::new()?;
        let server = authority.server()?;
        let list = authority.revokes(&[])?;
        let settings = format!(
            "[rpc]\ncertificate = {:?}\nkey = {:?}\nclient_certificates = \"required\"\n\
             client_ca = {:?}\nclient_crl = {list:?}\n\
             [rpc.identities]\nresizer = {{ roles = [\"worker\"] }}\n\
             importer = {{ grants = [\"queue.put:imports\"] }}\n\
             [rpc.tokens]\nkey_set_urls = [{url:?}]\nissuer = \"https://id.example.org\"\n\
             audience = \"stadium-rpc\"\n\
             [rpc.tokens.roles]\nworkers = [\"worker\"]\nbackends = [\"sender\"]\n",
            server.certificate,
            server.key,
            authority.file(),
        );
        let server = Server::start(Plan { settings, access: Access::Settings, ..Plan::default() })?;
        let running: Value = serde_json::from_slice(&std::fs::read(server.data().join("running.json"))?)?;
        let listeners = running["listeners"].as_array().context("no listeners")?;
        let rpc = listeners.iter().find(|one| one["name"] == "rpc").context("no rpc")?;
        let address = rpc["address"].as_str().context("no address")?.to_owned();
        Ok(Self { server, authority, address, folder: tempfile::tempdir()? })
    }

    /// Puts a job over a connection of its own: what the command has to say where it is refused.
    fn puts(&self, queue: &str, shown: &Identity, token: Option<&str>) -> Result<Option<String>> {
        let request = json!({ "queue": queue, "jobs": [{ "payload": "eA==" }] }).to_string();
        let mut command = Command::new(binary()?);
        command.args(["service", "call", "queue/Put", &request, "--instance", &self.address]);
        command.arg("--server-name").arg("localhost").arg("--ca").arg(self.authority.file());
        command.arg("--certificate").arg(&shown.certificate).arg("--key-file").arg(&shown.key);
        if let Some(token) = token {
            command.arg("--bearer-file").arg(self.file(token)?);
        }
        let output = command.output().context("the binary can be run")?;
        let words = String::from_utf8_lossy(&output.stderr).into_owned();
        if let Some(token) = token {
            ensure!(!words.contains(token), "the token is quoted: {words}");
        }
        Ok((!output.status.success()).then_some(words))
    }

    /// The same, which must be refused for want of a right.
    fn is_refused(&self, queue: &str, shown: &Identity, token: Option<&str>, why: &str) -> Result<()> {
        match self.puts(queue, shown, token)? {
            Some(words) if words.contains("NODE-009") && words.contains(why) => Ok(()),
            other => bail!("{queue} by {shown:?}: {other:?} is not {why:?}"),
        }
    }

    fn file(&self, text: &str) -> Result<PathBuf> {
        let file = self.folder.path().join("token.jwt");
        std::fs::write(&file, text)?;
        Ok(file)
    }
}

#[test]
fn tokens_by_keys_at_a_url_and_certificates_not_on_a_revocation_list_call_a_running_server() -> Result<()> {
    let (old, new) = (Signer::new("old")?, Signer::new("new")?);
    let set = Arc::new(Mutex::new(old.set()));
    let scene = Scene::start(&publish(&set)?)?;
    let resizer = scene.authority.device("resizer")?;
    let importer = scene.authority.device("importer")?;
    let stranger = scene.authority.device("stranger")?;

    // By certificate: the rights of its name, and none without a name that is known.
    ensure!(scene.puts("votes", &resizer, None)?.is_none(), "a worker puts jobs");
    ensure!(scene.puts("imports", &importer, None)?.is_none(), "its grant is for this queue");
    scene.is_refused("votes", &importer, None, "principal certificate:importer")?;
    scene.is_refused("votes", &stranger, None, "none of rpc.identities")?;

    // By token, which wins over the certificate.
    let worker = old.sign("workers")?;
    until_true(PATIENCE, "the keys to be fetched", || {
        Ok(scene.puts("votes", &stranger, Some(&worker))?.is_none())
    })?;
    let sender = old.sign("backends")?;
    scene.is_refused("votes", &resizer, Some(&sender), "principal token:ann of https://id.example.org")?;
    let forged = Signer::new("old")?.sign("workers")?;
    scene.is_refused("votes", &resizer, Some(&forged), "is not signed by a key of rpc.tokens")?;

    // The provider rotates its key, and the authority revokes a certificate.
    *set.lock().map_err(|_| anyhow::anyhow!("a panic"))? = new.set();
    scene.authority.revokes(&[&resizer])?;
    scene.server.signal(Signal::HUP)?;
    let by_new = new.sign("workers")?;
    until_true(PATIENCE, "the new key to be believed", || {
        Ok(scene.puts("votes", &stranger, Some(&by_new))?.is_none())
    })?;
    // Busy at first, if the keys were fetched so long ago that the token has them fetched again.
    until_true(PATIENCE, "the old key to be forgotten", || {
        let words = scene.puts("votes", &stranger, Some(&worker))?.unwrap_or_default();
        Ok(words.contains("is not signed by a key of rpc.tokens"))
    })?;
    let words = scene.puts("votes", &resizer, None)?.context("a revoked certificate opens a connection")?;
    ensure!(!words.contains("NODE-009"), "it is refused by the handshake, before any call: {words}");
    ensure!(scene.puts("imports", &importer, None)?.is_none(), "it is not on the list");

    let log = std::fs::read_to_string(scene.server.data().join("audit.ndjson")).unwrap_or_default();
    for token in [worker, sender, forged, by_new] {
        ensure!(!log.contains(&token) && !scene.server.log().contains(&token), "a token is in a log");
    }
    Ok(())
}
