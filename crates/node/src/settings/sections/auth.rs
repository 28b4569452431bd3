//! `[auth]`: who may connect and what they may do. Nothing is allowed that is not named here.

use std::path::PathBuf;

use crate::settings::define::group;
use crate::settings::value::words;

words! {
    /// The part of a client certificate that names the user.
    pub enum Principal {
        /// The subject's common name.
        CommonName = "common-name",
        /// The first DNS name or URI of the subject's alternative names.
        AlternativeName = "alternative-name",
    }
}

group! {
    /// Who may connect as a device, and what it may publish and subscribe to. Deny by default.
    pub struct Auth {
        /// Devices may connect without credentials. What they may do is still the rules' business.
        anonymous: bool = false, cost "anyone who reaches the port is a device";
        /// Users and their passwords: lines of `user:$argon2id$...`, made by `stadium device passwd`. Read again when it
        /// changes and on SIGHUP.
        password_file: Option<PathBuf> = None;
        /// What each may publish and subscribe to, TOML, first match wins. Without it a device reads its own inbox
        /// (`inbox/%c`) and the channels (`channels/+`), and writes its uplink (`uplink/%c/#`).
        rules_file: Option<PathBuf> = None;
        /// Failed attempts from one address, within a minute, before it is refused unseen. 0 means no limit.
        failures_per_address_max: u32 = 60, unit "attempts/min", in 0..=1_000_000,
            cost "guesses that an attacker gets";
    }
    tables {
        /// Tokens.
        token: Token,
        /// Client certificates.
        certificate: Certificate,
        /// A question to your own server.
        callback: Callback,
    }
}

group! {
    /// Signed tokens (JWT) as the MQTT password. On when `keys` names a file.
    pub struct Token {
        /// Keys that tokens are verified with: a JWK set (JSON) with HS256, ES256 or EdDSA keys, or one public key (PEM).
        /// Read again on SIGHUP.
        keys: Option<PathBuf> = None;
        /// Only tokens of this issuer (`iss`). Empty takes any.
        issuer: Option<String> = None;
        /// Only tokens for this audience (`aud`). Empty takes any.
        audience: Option<String> = None;
        /// Clock difference tolerated for `exp` and `nbf`.
        leeway_s: u32 = 30, unit "s", in 0..=600, cost "tokens live this much longer";
        /// The claim that names the user (`%u` in rules).
        user_claim: String = "sub".to_owned();
        /// The claim that the client id must equal. Empty does not check it.
        client_id_claim: Option<String> = None;
    }
}

group! {
    /// The client certificate that the TLS listener has verified is the credential.
    pub struct Certificate {
        /// Take it: needs `client_certificates` of the listener.
        enabled: bool = false;
        /// The part that names the user (`%u` in rules).
        principal: Principal = Principal::CommonName;
    }
}

group! {
    /// Your own server decides: POST with the credentials, an answer with `allow`. On when `url` is set.
    pub struct Callback {
        /// Where to ask, `http://`.
        url: Option<String> = None;
        /// How long an answer may take; then the device is told to come back.
        timeout_ms: u32 = 3_000, unit "ms", in 50..=60_000, cost "a dead callback holds its slots for longer";
        /// Questions in flight. At the bound devices are told to come back.
        in_flight_max: u16 = 16, unit "requests", in 1..=1_024, cost "a thread each";
        /// How long an allowing answer is remembered for the same credentials. 0 asks each time.
        cache_s: u32 = 60, unit "s", in 0..=86_400, cost "a revoked device keeps in for longer";
    }
}
