//! 100,000 devices on this machine: several servers and several clients, because a process may open 20,000
//! files. All connect, then one push over HTTP to each server reaches everybody at QoS 1.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::process::Stdio;
use std::sync::mpsc::Receiver;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

use super::measurement::client;
use crate::machine::{resident_bytes, shared_clock};
use crate::process::{Cores, Owned, lines};
use crate::server::{Kind, Places, Server, Setup};

/// Servers, and clients: one each.
const PROCESSES: usize = 6;
/// Devices of each pair.
const DEVICES_EACH: usize = 16_700;
/// Time for all to connect, and for all to get a push.
const STEP_MAX: Duration = Duration::from_secs(120);

/// Connects the fleet and pushes to it; returns the numbers by name.
pub(super) fn take(places: &Places) -> Result<Vec<(String, f64)>> {
    let setup = Setup { cores: Cores::Both, loops: 1, ..Setup::one_core() };
    let mut servers = Vec::new();
    for _ in 0..PROCESSES {
        servers.push(Server::start(Kind::Stadium, places, &setup)?);
    }
    let before = shared_clock()?;
    let mut clients = Vec::new();
    for (index, server) in servers.iter().enumerate() {
        let mut command = client(places, server, Cores::Both);
        command.args(["hold", "--devices", &DEVICES_EACH.to_string(), "--prefix", &format!("d{index}")]);
        let mut process = Owned::start(command.stdin(Stdio::piped()).stdout(Stdio::piped()))?;
        let lines = lines(&mut process)?;
        clients.push((process, lines));
    }
    for (_, lines) in &clients {
        next(lines).context("a client did not connect")?;
    }
    let connected_s = (shared_clock()? - before).as_secs_f64();
    let devices = (PROCESSES * DEVICES_EACH) as f64;
    let mut resident = 0;
    for server in &servers {
        resident += resident_bytes(server.pid())?;
    }

    let pushed = shared_clock()?.as_secs_f64();
    for server in &servers {
        push(server)?;
    }
    let mut last = 0.0_f64;
    for (_, lines) in &clients {
        let line = next(lines).context("a push did not reach everybody")?;
        last = last.max(line["last_s"].as_f64().context("no last_s")?);
    }
    let push_s = last - pushed;
    Ok(vec![
        ("devices".into(), devices),
        ("connects_per_s".into(), devices / connected_s),
        ("push_s".into(), push_s),
        ("deliveries_per_s".into(), devices / push_s),
        ("resident_bytes_per_device".into(), resident as f64 / devices),
    ])
}

fn next(lines: &Receiver<String>) -> Result<Value> {
    let line = lines.recv_timeout(STEP_MAX)?;
    Ok(serde_json::from_str(&line)?)
}

/// One push to everybody at QoS 1, by plain HTTP; the answer must be 202.
fn push(server: &Server) -> Result<()> {
    let key = fs::read_to_string(server.folder.join("data/admin.key")).context("no admin.key")?;
    let body = r#"{"to":"everybody","message":"the lights go on","qos":1}"#;
    let request = format!(
        "POST /api/push HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
        server.http,
        key.trim(),
        body.len()
    );
    let mut socket = TcpStream::connect(server.http)?;
    socket.write_all(request.as_bytes())?;
    let mut answer = String::new();
    socket.read_to_string(&mut answer)?;
    if !answer.starts_with("HTTP/1.1 202") {
        bail!("the push was not accepted: {answer}");
    }
    Ok(())
}
