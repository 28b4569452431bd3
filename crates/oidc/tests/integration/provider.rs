//! A real OpenID provider: the npm package `oidc-provider`, run by Node from testing/oidc-provider.
//!
//! The suite of `stadium-http` uses it too.

#![allow(dead_code, reason = "each suite uses its part")]

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};
use stadium_oidc::{Secret, Settings};

pub const REDIRECT_URL: &str = "http://127.0.0.1:9/login/callback";
pub const AFTER_LOGOUT: &str = "http://127.0.0.1:9/bye";
pub const CLIENT_SECRET: &str = "a secret: with / + % and 'more'";

/// How the provider is set up.
pub struct Setup {
    /// The claims of scopes are in the ID token, or at the userinfo endpoint.
    pub groups_in: &'static str,
    /// The proof of the client at the token endpoint.
    pub auth_method: &'static str,
    /// The algorithm of ID tokens.
    pub algorithm: &'static str,
    /// Key and certificate in PEM, to speak https.
    pub tls: Option<(String, String)>,
    /// Where it sends a browser back to.
    pub redirect_url: String,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            groups_in: "id_token",
            auth_method: "client_secret_basic",
            algorithm: "RS256",
            tls: None,
            redirect_url: REDIRECT_URL.to_owned(),
        }
    }
}

/// The running provider. It is killed when this is dropped.
pub struct RealProvider {
    pub issuer: String,
    setup: Setup,
    child: Child,
    /// The provider ends when this closes.
    _stdin: ChildStdin,
    /// It prints notices, and ends where nobody can read them.
    _stdout: BufReader<ChildStdout>,
}

impl RealProvider {
    pub fn start(setup: Setup) -> Self {
        Self::start_at(0, setup)
    }

    fn start_at(port: u16, setup: Setup) -> Self {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testing/oidc-provider");
        assert!(
            folder.join("node_modules/oidc-provider").exists(),
            "the package oidc-provider is not installed: `cargo xtask test` does it, or `npm ci` in {}",
            folder.display()
        );
        let mut client = json!({
            "client_id": "stadium",
            "redirect_uris": [setup.redirect_url],
            "post_logout_redirect_uris": [AFTER_LOGOUT],
            "token_endpoint_auth_method": setup.auth_method,
            "id_token_signed_response_alg": setup.algorithm,
        });
        if setup.auth_method != "none" {
            client["client_secret"] = json!(CLIENT_SECRET);
        }
        let mut options = json!({
            "port": port,
            "clients": [client],
            "groupsIn": setup.groups_in,
            "authMethods": [setup.auth_method],
        });
        if let Some((key, cert)) = &setup.tls {
            options["tls"] = json!({ "key": key, "cert": cert });
        }
        let mut child = Command::new("node")
            .current_dir(&folder)
            .args(["provider.js", &options.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("Node starts: `cargo xtask test` installs it");
        let stdin = child.stdin.take().expect("piped");
        let mut stdout = BufReader::new(child.stdout.take().expect("piped"));
        let mut lines = stdout.by_ref().lines().map_while(Result::ok);
        let issuer = lines.find_map(|line| line.strip_prefix("issuer ").map(str::to_owned));
        let issuer = issuer.unwrap_or_else(|| {
            let mut problem = String::new();
            let _ = child.stderr.take().expect("piped").read_to_string(&mut problem);
            panic!("the provider did not start: {problem}")
        });
        Self { issuer, setup, child, _stdin: stdin, _stdout: stdout }
    }

    pub fn settings(&self) -> Settings {
        let mut settings = Settings::new(&self.issuer, "stadium", &self.setup.redirect_url);
        settings.post_logout_redirect_url = Some(AFTER_LOGOUT.to_owned());
        if self.setup.auth_method != "none" {
            settings.client_secret = Some(Secret::new(CLIENT_SECRET));
        }
        settings.authorities =
            self.setup.tls.as_ref().map(|(_, certificate)| certificate.clone().into_bytes());
        settings
    }

    /// The provider gets new keys, and forgets the old ones.
    pub fn rotate_keys(&self) {
        let answer = ureq::post(format!("{}/control/keys", self.issuer)).send_empty().expect("rotated");
        assert_eq!(answer.status(), 204);
    }

    /// Kills the provider. Returns how it is started again at its address.
    pub fn stop(mut self) -> impl FnOnce() -> Self {
        self.child.kill().expect("killed");
        self.child.wait().expect("ended");
        let (_, port) = self.issuer.rsplit_once(':').expect("a port");
        let port = port.parse().expect("a port");
        let setup = std::mem::take(&mut self.setup);
        move || Self::start_at(port, setup)
    }

    /// Its metadata, read without the code under test.
    pub fn metadata(&self) -> Value {
        let url = format!("{}/.well-known/openid-configuration", self.issuer);
        ureq::get(url).call().expect("answered").body_mut().read_json().expect("JSON")
    }
}

impl Drop for RealProvider {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
