//! What is loaded: nginx with one worker on core 0, which answers from memory and logs nothing.

use std::fs;

use anyhow::{Context as _, Result};

use crate::server::free_address;
use crate::services::{Service, Start, version};
use crate::tls::Identity;

/// The answer of 100 bytes.
const ANSWER: &str =
    "0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789";

/// nginx, running.
pub(super) struct Nginx {
    pub(super) service: Service,
    https: u16,
}

impl Nginx {
    /// Starts it.
    pub(super) fn start(start: &Start<'_>) -> Result<Self> {
        let https = free_address()?.port();
        let identity = Identity::generate()?;
        let service = start.service("nginx", |folder, port| {
            let (certificate, key) = identity.write(folder)?;
            let place = folder.display();
            let temporary: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
                .map(|kind| format!("{kind}_temp_path {place}/{kind};\n"))
                .concat();
            let answers: String = [
                ("/", "text/plain", ANSWER),
                ("/login", "application/json", r#"{"token":"3f0c9a5be1d24c66","user":{"id":17,"name":"user-17"}}"#),
                (
                    "/candidates",
                    "application/json",
                    r#"{"candidates":[{"id":101,"name":"Ada"},{"id":102,"name":"Grace"},{"id":103,"name":"Edsger"}]}"#,
                ),
                ("/balance", "application/json", r#"{"balance":25,"unit":"votes"}"#),
                ("/vote", "application/json", r#"{"ok":true,"balance":24}"#),
            ]
            .map(|(path, kind, text)| format!("location = {path} {{ default_type {kind}; return 200 '{text}'; }}\n"))
            .concat();
            let configuration = format!(
                "worker_processes 1;\ndaemon off;\npid {place}/pid;\nerror_log {place}/error.log;\n\
                 events {{ worker_connections 15000; }}\n\
                 http {{\naccess_log off;\nkeepalive_requests 1000000000;\nkeepalive_timeout 600;\n{temporary}\
                 server {{\nlisten 127.0.0.1:{port} backlog=4096;\nlisten 127.0.0.1:{https} ssl backlog=4096;\n\
                 ssl_certificate {};\nssl_certificate_key {};\nssl_session_cache shared:s:10m;\n{answers}}}\n}}\n",
                certificate.display(),
                key.display(),
            );
            let file = folder.join("nginx.conf");
            fs::write(&file, configuration).context("writing nginx.conf")?;
            let mut nginx = start.command("nginx");
            nginx.arg("-c").arg(file).arg("-e").arg(folder.join("error.log"));
            Ok(nginx)
        })?;
        service.await_port()?;
        // Killed, it would leave its worker behind.
        let service = service.ask_before_killing();
        Ok(Nginx { service, https })
    }

    /// Where it answers in plain HTTP.
    pub(super) fn http(&self) -> String {
        format!("http://{}", self.service.address())
    }

    /// Where it answers over TLS.
    pub(super) fn https(&self) -> String {
        format!("https://127.0.0.1:{}", self.https)
    }
}

/// Its package.
pub(super) fn version() -> String {
    version::of("nginx")
}
