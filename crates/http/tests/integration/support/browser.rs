//! A real headless Chromium, driven over its debugging protocol by a small client of our own.
//!
//! Only what the page's suite needs: open a page at a width and theme, evaluate, collect errors, take a picture.
//! The browser and its profile are gone when the value is dropped.

#![allow(dead_code, reason = "each user has its part")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

/// How the page is looked at.
#[derive(Clone, Copy)]
pub struct Look {
    pub width: u32,
    pub height: u32,
    /// `dark` or `light`.
    pub scheme: &'static str,
    /// `no-preference` or `reduce`.
    pub motion: &'static str,
}

pub struct Browser {
    process: Child,
    socket: BufReader<TcpStream>,
    last_id: u64,
    session: Option<String>,
    /// What the page complained about: uncaught errors, console errors, failed loads.
    pub complaints: Vec<String>,
    _profile: tempfile::TempDir,
}

impl Browser {
    /// Starts Chromium.
    ///
    /// # Panics
    /// When it is not installed, naming the package, or does not start.
    pub fn start() -> Self {
        let profile = tempfile::tempdir().expect("a temporary directory");
        let started = Command::new("/usr/bin/chromium")
            .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"])
            .args(["--disable-background-networking", "--disable-component-update", "--disable-sync"])
            .args(["--hide-scrollbars", "--remote-debugging-port=0"])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .arg("about:blank")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn();
        let process = started.unwrap_or_else(|error| {
            panic!(
                "/usr/bin/chromium: {error}; install the Debian package `chromium` (apt-get install chromium)"
            )
        });
        let port_file = profile.path().join("DevToolsActivePort");
        let deadline = Instant::now() + Duration::from_secs(60);
        let (port, path) = loop {
            let text = std::fs::read_to_string(&port_file).unwrap_or_default();
            if let Some((port, path)) = text.split_once('\n')
                && !path.is_empty()
            {
                break (port.parse::<u16>().expect("a port"), path.trim().to_owned());
            }
            assert!(Instant::now() < deadline, "chromium did not open its debugging port in a minute");
            std::thread::yield_now();
        };
        let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("the debugging port listens");
        stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a socket option");
        let key = STANDARD.encode([7; 16]);
        let head = format!(
            "GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
             Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).expect("it is open");
        let mut socket = BufReader::new(stream);
        let mut line = String::new();
        socket.read_line(&mut line).expect("an answer");
        assert!(line.contains("101"), "{line}");
        while line.trim() != "" {
            line.clear();
            socket.read_line(&mut line).expect("the rest of the head");
        }
        Self { process, socket, last_id: 0, session: None, complaints: Vec::new(), _profile: profile }
    }

    /// Opens a page in a tab of its own.
    pub fn open(&mut self, url: &str, look: Look) {
        self.session = None;
        let target = self.call("Target.createTarget", json!({"url": "about:blank"}))["targetId"].clone();
        let attached = self.call("Target.attachToTarget", json!({"targetId": target, "flatten": true}));
        self.session = attached["sessionId"].as_str().map(ToOwned::to_owned);
        for domain in ["Page", "Runtime", "Log"] {
            self.call(&format!("{domain}.enable"), json!({}));
        }
        self.look(look);
        self.call("Page.navigate", json!({"url": url}));
    }

    /// Changes how the open page is looked at.
    pub fn look(&mut self, look: Look) {
        let Look { width, height, scheme, motion } = look;
        let size = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600});
        self.call("Emulation.setDeviceMetricsOverride", size);
        let features = json!([{"name": "prefers-color-scheme", "value": scheme},
                              {"name": "prefers-reduced-motion", "value": motion}]);
        self.call("Emulation.setEmulatedMedia", json!({"features": features}));
    }

    /// The value of an expression in the page.
    pub fn evaluate(&mut self, expression: &str) -> Value {
        let answer = self.attempt(expression);
        assert!(answer["exceptionDetails"].is_null(), "{expression}: {answer}");
        answer["result"]["value"].clone()
    }

    fn attempt(&mut self, expression: &str) -> Value {
        let options = json!({"expression": expression, "returnByValue": true, "awaitPromise": true});
        let answer = self.ask("Runtime.evaluate", options);
        let error = answer["error"]["message"].as_str().unwrap_or_default();
        // A page that goes elsewhere meanwhile has no value; the wait asks again.
        if error.contains("navigated or closed") || error.contains("context was destroyed") {
            return json!({"exceptionDetails": error});
        }
        assert!(error.is_empty(), "{expression}: {answer}");
        answer["result"].clone()
    }

    /// Waits until an expression is true, at most 20 seconds. One that fails, since the page is not there yet, is
    /// not true.
    pub fn wait_until(&mut self, expression: &str) {
        let deadline = Instant::now() + Duration::from_secs(20);
        while self.attempt(expression)["result"]["value"] != Value::Bool(true) {
            if Instant::now() >= deadline {
                let page = self.evaluate("document.body.innerText");
                panic!("never: {expression}\ncomplaints: {:?}\n{page}", self.complaints);
            }
        }
    }

    /// Writes a picture of the page.
    pub fn picture(&mut self, file: &Path) {
        let answer = self.call("Page.captureScreenshot", json!({"format": "png"}));
        let png = STANDARD.decode(answer["data"].as_str().expect("data")).expect("base64");
        std::fs::write(file, png).expect("writes");
    }

    fn call(&mut self, method: &str, parameters: Value) -> Value {
        let answer = self.ask(method, parameters);
        assert!(answer["error"].is_null(), "{method}: {answer}");
        answer["result"].clone()
    }

    fn ask(&mut self, method: &str, parameters: Value) -> Value {
        self.last_id += 1;
        let mut message = json!({"id": self.last_id, "method": method, "params": parameters});
        if let Some(session) = &self.session {
            message["sessionId"] = session.as_str().into();
        }
        self.send(&message.to_string());
        loop {
            let answer: Value = serde_json::from_str(&self.receive()).expect("JSON");
            if answer["id"] == self.last_id {
                return answer;
            }
            self.listen(&answer);
        }
    }

    fn listen(&mut self, event: &Value) {
        let parameters = &event["params"];
        let complaint = match event["method"].as_str().unwrap_or_default() {
            "Runtime.exceptionThrown" => true,
            "Runtime.consoleAPICalled" => ["error", "warning"].iter().any(|kind| parameters["type"] == *kind),
            "Log.entryAdded" => parameters["entry"]["level"] == "error",
            _ => false,
        };
        if complaint {
            self.complaints.push(event.to_string());
        }
    }

    /// One text frame (RFC 6455, 5.2); a client masks, and a mask of zeroes is one.
    fn send(&mut self, text: &str) {
        let mut frame = vec![0x81];
        match text.len() {
            short @ 0..126 => frame.push(0x80 | short as u8),
            middle @ 126..65_536 => {
                frame.push(0x80 | 126);
                frame.extend((middle as u16).to_be_bytes());
            }
            long => {
                frame.push(0x80 | 127);
                frame.extend((long as u64).to_be_bytes());
            }
        }
        frame.extend([0; 4]);
        frame.extend(text.as_bytes());
        self.socket.get_mut().write_all(&frame).expect("chromium listens");
    }

    fn receive(&mut self) -> String {
        let mut text = Vec::new();
        loop {
            let mut head = [0; 2];
            self.socket.read_exact(&mut head).expect("chromium answers");
            let length = match head[1] & 0x7f {
                126 => u64::from(u16::from_be_bytes(self.bytes())),
                127 => u64::from_be_bytes(self.bytes()),
                short => u64::from(short),
            };
            let start = text.len();
            text.resize(start + usize::try_from(length).expect("it fits memory"), 0);
            self.socket.read_exact(&mut text[start..]).expect("the whole frame");
            if head[0] & 0x80 != 0 {
                return String::from_utf8(text).expect("text");
            }
        }
    }

    fn bytes<const N: usize>(&mut self) -> [u8; N] {
        let mut bytes = [0; N];
        self.socket.read_exact(&mut bytes).expect("the whole head");
        bytes
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // Chromium is several processes; the group is ours, since it was started with `process_group(0)`.
        let group = format!("-{}", self.process.id());
        let _ = Command::new("kill").args(["-KILL", "--", &group]).status();
        let _ = self.process.wait();
    }
}
