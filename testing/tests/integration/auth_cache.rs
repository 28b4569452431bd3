//! Answers of the authentication callback in a memcached that several servers share.
//!
//! All of it is real: servers, memcached, an HTTP endpoint that counts what it is asked. The cache is
//! killed, paused, full and forged: nobody is refused for it, and nobody is let in by it.

use std::collections::HashMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use stadium_testing::certificates::Authority;
use stadium_testing::deadline::{PATIENCE, until_true};
use stadium_testing::device::Device;
use stadium_testing::memcached::Memcached;
use stadium_testing::server::{Access, Plan, Server};
use stadium_testing::wire::{Connect, Kind, Version};
use tempfile::TempDir;

/// The password of everybody; it must show up nowhere.
const PASSWORD: &str = "wonderland-4711";

/// Not authorised: MQTT 5.0, 3.2.2.2.
const NOT_AUTHORISED: u8 = 0x87;

/// The customer's endpoint: counts requests by user, and answers after a delay.
struct Endpoint {
    address: SocketAddr,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    asked: HashMap<String, usize>,
    /// Answers by user; all others get a plain yes.
    answers: HashMap<String, Value>,
    delay: Duration,
}

impl Endpoint {
    fn start(delay: Duration) -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?;
        let state = Arc::new(Mutex::new(State { delay, ..State::default() }));
        let shared = Arc::clone(&state);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let state = Arc::clone(&shared);
                // A connection that breaks is the server's matter.
                thread::spawn(move || drop(Self::serve(stream, &state)));
            }
        });
        Ok(Self { address, state })
    }

    fn serve(stream: TcpStream, state: &Mutex<State>) -> Result<()> {
        let mut reader = BufReader::new(stream);
        let mut length = 0;
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line)? == 0 || line == "\r\n" {
                break;
            }
            if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse()?;
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body)?;
        let question: Value = serde_json::from_slice(&body)?;
        let user = question["username"].as_str().unwrap_or_default().to_owned();
        let (answer, delay) = {
            let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
            *state.asked.entry(user.clone()).or_default() += 1;
            let right = question["password"] == PASSWORD;
            let answer = state.answers.get(&user).cloned();
            (answer.unwrap_or_else(|| json!({ "allow": right, "principal": user })), state.delay)
        };
        thread::sleep(delay);
        let text = answer.to_string();
        let head = format!("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: {}", text.len());
        write!(reader.get_mut(), "{head}\r\n\r\n{text}")?;
        Ok(())
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn answers(&self, user: &str, answer: Value) {
        self.state().answers.insert(user.to_owned(), answer);
    }

    fn asked(&self, user: &str) -> usize {
        self.state().asked.get(user).copied().unwrap_or_default()
    }
}

/// The endpoint, the cache and the secret that the servers of a test share.
struct House {
    endpoint: Endpoint,
    memcached: Memcached,
    files: TempDir,
}

impl House {
    fn new(delay: Duration, memcached: &[&str]) -> Result<Self> {
        let files = tempfile::tempdir()?;
        std::fs::write(files.path().join("cache.secret"), "a secret of this house, 32 bytes and more\n")?;
        Ok(Self { endpoint: Endpoint::start(delay)?, memcached: Memcached::start(memcached)?, files })
    }

    /// A server with these settings of the callback and of the cache.
    fn server(&self, callback: &str, cache: &str) -> Result<Server> {
        self.server_of(&[&self.memcached], callback, cache)
    }

    /// The same, with these memcached servers.
    fn server_of(&self, memcached: &[&Memcached], callback: &str, cache: &str) -> Result<Server> {
        let secret = self.files.path().join("cache.secret");
        let servers: Vec<String> = memcached.iter().map(|one| one.address.to_string()).collect();
        let settings = format!(
            "[auth.callback]\nurl = \"http://{}/login\"\nin_flight_max = 16\n{callback}\n\
             [cache]\nservers = {servers:?}\nsecret_file = {secret:?}\n{cache}\n[http]\nopen_read = true\n",
            self.endpoint.address
        );
        Server::start(Plan { settings, access: Access::Settings, loops: 1, ..Plan::default() })
    }
}

/// Generous: the machine may be busy, and a cache that is too slow is not what these tests are about.
const SLOW: &str = "timeout_ms = 2000";

fn reason(server: &Server, id: &str, user: &str, password: &str) -> Result<u8> {
    let login = Some((user.to_owned(), password.to_owned()));
    let mut device = Device::dial(server.mqtt, Version::V5)?;
    device.send(&Connect { login, ..Connect::new(Version::V5, id) }.encode())?;
    Ok(device.expect(Kind::Connack)?.reason(Version::V5))
}

fn let_in(server: &Server, id: &str, user: &str) -> Result<()> {
    let reason = reason(server, id, user, PASSWORD)?;
    ensure!(reason == 0, "{id} of {user} was refused with {reason:#04x}\n{}", server.log());
    Ok(())
}

fn event(server: &Server, name: &str) -> Result<u64> {
    let (_, text) = server.api().plain("/metrics")?;
    let line = format!("stadium_auth_cache_total{{reason=\"{name}\"}} ");
    let found = text.lines().find_map(|found| found.strip_prefix(&line));
    Ok(found.with_context(|| format!("no {line}in\n{text}"))?.parse()?)
}

#[test]
fn a_storm_of_one_token_on_two_servers_costs_one_request() -> Result<()> {
    let house = House::new(Duration::from_millis(150), &[])?;
    let callback = "cache_s = 60\ncache_scope = \"credential\"";
    let servers = [house.server(callback, SLOW)?, house.server(callback, SLOW)?];
    thread::scope(|scope| {
        let device = |n: usize| {
            let server = &servers[n % 2];
            scope.spawn(move || let_in(server, &format!("phone-{n}"), "fleet"))
        };
        let devices: Vec<_> = (0..200).map(device).collect();
        devices.into_iter().try_for_each(|device| device.join().expect("no panic"))
    })?;
    ensure!(house.endpoint.asked("fleet") == 1, "{} requests", house.endpoint.asked("fleet"));
    // Another password, and the same one for another app, are other credentials.
    ensure!(reason(&servers[0], "phone-1", "fleet", "wrong")? == NOT_AUTHORISED);
    ensure!(house.endpoint.asked("fleet") == 2);
    let_in(&servers[0], "shop/phone-1", "fleet")?;
    ensure!(house.endpoint.asked("fleet") == 3);
    // A refusal is not kept unless configured.
    ensure!(reason(&servers[1], "phone-1", "fleet", "wrong")? == NOT_AUTHORISED);
    ensure!(house.endpoint.asked("fleet") == 4);
    // Neither keys nor values show what a device showed.
    for key in house.memcached.keys()? {
        let value = house.memcached.value(&key)?.unwrap_or_default();
        let text = format!("{key} {}", String::from_utf8_lossy(&value));
        ensure!(key.starts_with("stadium:auth/") && !text.contains(PASSWORD), "{text}");
        ensure!(!text.contains("phone-"), "{text}");
    }
    ensure!(event(&servers[0], "hit")? + event(&servers[1], "hit")? >= 1);
    ensure!(event(&servers[0], "miss")? + event(&servers[1], "miss")? == 4);
    Ok(())
}

#[test]
fn answers_that_are_not_kept_make_nobody_wait() -> Result<()> {
    let house = House::new(Duration::from_millis(200), &[])?;
    house.endpoint.answers("fleet", json!({"allow": false}));
    let server = house.server("cache_s = 60\ncache_scope = \"credential\"", SLOW)?;
    let begun = Instant::now();
    thread::scope(|scope| {
        let device = |n: usize| {
            let server = &server;
            scope.spawn(move || reason(server, &format!("phone-{n}"), "fleet", PASSWORD))
        };
        let devices: Vec<_> = (0..48).map(device).collect();
        devices.into_iter().try_for_each(|device| {
            ensure!(device.join().expect("no panic")? == NOT_AUTHORISED);
            Ok(())
        })
    })?;
    // One after the other would take ten seconds.
    ensure!(begun.elapsed() < Duration::from_secs(4), "{:?}", begun.elapsed());
    ensure!(house.endpoint.asked("fleet") == 48 && event(&server, "miss")? == 48);
    Ok(())
}

#[test]
fn an_answer_is_for_one_device_and_kept_as_long_as_it_says() -> Result<()> {
    let house = House::new(Duration::ZERO, &[])?;
    let servers = [house.server("cache_denial_s = 30", SLOW)?, house.server("", SLOW)?];
    // Without a time in the settings, only answers that name one are kept.
    let_in(&servers[0], "anna-1", "anna")?;
    let_in(&servers[1], "anna-1", "anna")?;
    ensure!(house.endpoint.asked("anna") == 2);
    house.endpoint.answers("bert", json!({"allow": true, "groups": ["staff"], "cache_s": 600}));
    let_in(&servers[0], "bert-1", "bert")?;
    let_in(&servers[1], "bert-1", "bert")?;
    ensure!(house.endpoint.asked("bert") == 1);
    let_in(&servers[1], "bert-2", "bert")?;
    ensure!(house.endpoint.asked("bert") == 2, "another client id is another question");
    // A refusal is kept where configured; the other server uses it too.
    house.endpoint.answers("carl", json!({"allow": false}));
    ensure!(reason(&servers[0], "carl", "carl", PASSWORD)? == NOT_AUTHORISED);
    ensure!(reason(&servers[1], "carl", "carl", PASSWORD)? == NOT_AUTHORISED);
    ensure!(house.endpoint.asked("carl") == 1);
    // Reading all again forgets them on this server.
    servers[1].signal(stadium_testing::process::Signal::HUP)?;
    until_true(PATIENCE, "a new question about bert", || {
        let_in(&servers[1], "bert-1", "bert")?;
        Ok(house.endpoint.asked("bert") == 3)
    })
}

#[test]
fn a_user_that_is_blocked_stays_in_for_the_lifetime_at_most() -> Result<()> {
    let house = House::new(Duration::ZERO, &[])?;
    let servers = [house.server("cache_s = 6", SLOW)?, house.server("cache_s = 6", SLOW)?];
    let_in(&servers[0], "anna", "anna")?;
    let begun = Instant::now();
    house.endpoint.answers("anna", json!({"allow": false}));
    let_in(&servers[1], "anna", "anna")?;
    until_true(PATIENCE, "the refusal", || Ok(reason(&servers[1], "anna", "anna", PASSWORD)? != 0))?;
    ensure!(begun.elapsed() < Duration::from_secs(8), "{:?}", begun.elapsed());
    // The refusal removed the answer for the other server too.
    until_true(Duration::from_secs(2), "the other server's refusal", || {
        Ok(reason(&servers[0], "anna", "anna", PASSWORD)? != 0)
    })
}

#[test]
fn a_cache_that_is_killed_paused_or_full_refuses_nobody() -> Result<()> {
    let mut house = House::new(Duration::ZERO, &["-M", "-m", "2"])?;
    let server = house.server("cache_s = 600", "timeout_ms = 400")?;
    let_in(&server, "anna", "anna")?;
    until_true(PATIENCE, "the answer in the cache", || Ok(!house.memcached.keys()?.is_empty()))?;

    house.memcached.kill();
    for n in 0..10 {
        let_in(&server, &format!("killed-{n}"), "killed")?;
    }
    ensure!(house.endpoint.asked("killed") == 10);
    ensure!(event(&server, "failure")? >= 1 && event(&server, "rest")? >= 1);
    let failed = "The cache of the authentication callback failed";
    let log = server.log();
    ensure!(log.matches(failed).count() == 1, "one line, not ten:\n{log}");
    ensure!(!log.contains(PASSWORD), "{log}");

    house.memcached.restart()?;
    until_true(PATIENCE, "the cache to be used again", || {
        let_in(&server, "bert", "bert")?;
        Ok(!house.memcached.keys()?.is_empty())
    })?;

    house.memcached.pause();
    let begun = Instant::now();
    for n in 0..10 {
        let_in(&server, &format!("paused-{n}"), "paused")?;
    }
    let took = begun.elapsed();
    house.memcached.resume();
    ensure!(house.endpoint.asked("paused") == 10);
    // Five wait for 200 ms each; then the cache is left alone.
    ensure!(took < Duration::from_secs(5), "{took:?}");

    house.memcached.fill()?;
    for n in 0..10 {
        let_in(&server, &format!("full-{n}"), "full")?;
    }
    ensure!(house.endpoint.asked("full") == 10);
    house.memcached.ask("flush_all\r\n", "OK\r\n")?;
    Ok(())
}

#[test]
fn answers_are_shared_over_tls_with_a_login_and_a_client_certificate() -> Result<()> {
    let house = House::new(Duration::ZERO, &[])?;
    let authority = Authority::new()?;
    let users = house.files.path().join("users");
    std::fs::write(&users, "stadium:of-the-cache\n")?;
    let secured =
        Memcached::with_tls(&authority, &authority.server()?, &["-Y", &users.display().to_string()])?;
    let password = house.files.path().join("cache.password");
    std::fs::write(&password, "of-the-cache\n")?;
    let own = authority.device("stadium")?;
    let with_ca = |ca: std::path::PathBuf| {
        format!(
            "{SLOW}\ntls = true\nca = {ca:?}\ncertificate = {:?}\nkey = {:?}\nuser = \"stadium\"\n\
             password_file = {password:?}",
            own.certificate, own.key
        )
    };
    let settings = with_ca(authority.file());
    let first = house.server_of(&[&secured], "cache_s = 600", &settings)?;
    let second = house.server_of(&[&secured], "cache_s = 600", &settings)?;
    let_in(&first, "anna", "anna")?;
    let_in(&second, "anna", "anna")?;
    ensure!(house.endpoint.asked("anna") == 1, "{}\n{}", first.log(), second.log());
    ensure!(event(&second, "hit")? == 1 && event(&first, "failure")? == 0);

    // Another authority: the memcached server is not believed, and the callback is asked.
    let stranger = house.server_of(&[&secured], "cache_s = 600", &with_ca(Authority::new()?.file()))?;
    let_in(&stranger, "anna", "anna")?;
    ensure!(house.endpoint.asked("anna") == 2 && event(&stranger, "failure")? == 1);
    let log = stranger.log();
    ensure!(log.contains("no TLS session with the server") && !log.contains("of-the-cache"), "{log}");

    // A password that memcached does not know.
    std::fs::write(&password, "mistaken\n")?;
    let stranger = house.server_of(&[&secured], "cache_s = 600", &settings)?;
    let_in(&stranger, "anna", "anna")?;
    ensure!(house.endpoint.asked("anna") == 3 && event(&stranger, "failure")? == 1);
    let log = stranger.log();
    ensure!(log.contains("the server lets nobody in") && !log.contains("mistaken"), "{log}");
    Ok(())
}

#[test]
fn several_memcached_servers_have_shares_by_their_weights() -> Result<()> {
    let house = House::new(Duration::ZERO, &[])?;
    let large = Memcached::start(&[])?;
    let both = [&house.memcached, &large];
    let server = house.server_of(&both, "cache_s = 600", &format!("{SLOW}\nweights = [1, 10]"))?;
    for n in 0..44 {
        let_in(&server, &format!("phone-{n}"), "fleet")?;
    }
    let (few, many) = (house.memcached.keys()?.len(), large.keys()?.len());
    ensure!(few + many == 44 && many > 4 * few.max(1), "{few} and {many}");

    // Another server with the same weights finds them.
    let second = house.server_of(&both, "cache_s = 600", &format!("{SLOW}\nweights = [1, 10]"))?;
    for n in 0..44 {
        let_in(&second, &format!("phone-{n}"), "fleet")?;
    }
    ensure!(house.endpoint.asked("fleet") == 44 && event(&second, "hit")? == 44);
    Ok(())
}

#[test]
fn entries_that_others_wrote_let_nobody_in() -> Result<()> {
    let house = House::new(Duration::ZERO, &[])?;
    let first = house.server("cache_s = 600", SLOW)?;
    let key_of = |before: &[String]| -> Result<String> {
        let keys = house.memcached.keys()?;
        keys.into_iter().find(|key| !before.contains(key)).context("a new key")
    };
    let_in(&first, "anna", "anna")?;
    let of_anna = key_of(&[])?;
    house.endpoint.answers("carl", json!({"allow": false, "cache_s": 600}));
    ensure!(reason(&first, "carl", "carl", PASSWORD)? == NOT_AUTHORISED);
    let of_carl = key_of(std::slice::from_ref(&of_anna))?;

    // Another process, which has no copies. The entry of one under the key of the other.
    let second = house.server("cache_s = 600", SLOW)?;
    let allowed = house.memcached.value(&of_anna)?.context("an entry")?;
    house.memcached.put(&of_carl, &allowed)?;
    ensure!(reason(&second, "carl", "carl", PASSWORD)? == NOT_AUTHORISED);
    ensure!(event(&second, "forgery")? == 1 && house.endpoint.asked("carl") == 2);
    // It is replaced by the true one.
    ensure!(house.memcached.value(&of_carl)?.is_some_and(|value| value != allowed));

    // Changed, cut and senseless ones.
    let mut changed = allowed.clone();
    changed[3] ^= 1;
    for (place, forged) in
        [changed, allowed[..20].to_vec(), b"{\"allow\":true}".to_vec()].into_iter().enumerate()
    {
        house.memcached.put(&of_anna, &forged)?;
        let third = house.server("cache_s = 600", SLOW)?;
        let_in(&third, "anna", "anna")?;
        ensure!(event(&third, "forgery")? == 1 && house.endpoint.asked("anna") == 2 + place);
        ensure!(third.log().matches("is not of a server with this secret").count() == 1);
    }

    // A server with another secret has other keys.
    std::fs::write(house.files.path().join("cache.secret"), "another secret of another house, 32 bytes")?;
    let stranger = house.server("cache_s = 600", SLOW)?;
    let_in(&stranger, "anna", "anna")?;
    ensure!(house.endpoint.asked("anna") == 5 && event(&stranger, "forgery")? == 0);
    Ok(())
}
