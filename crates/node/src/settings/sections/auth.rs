//! `[auth]`: the devices that may connect, and their rights. Nothing is allowed that is not named
//! here.
//!
//! Secrets are in files that these settings name, never in the settings, so that `config show` leaks none.

use std::path::PathBuf;

use crate::settings::define::group;
use crate::settings::value::{Bounds, Misfit, Raw, Value, words};

words! {
    /// Whether a device that proves nothing is let in.
    pub enum Anonymous {
        /// It is not.
        Refused = "refused",
        /// It is, when it shows no credentials at all.
        WithoutCredentials = "without-credentials",
        /// Everybody is, and nothing they show is checked; for trial mode.
        Anyone = "anyone",
    }
}

words! {
    /// Which client identifiers a user may take.
    pub enum ClientIdBinding {
        /// Only the user's own name.
        Principal = "principal",
        /// Any, for devices behind one name that trust each other.
        Any = "any",
    }
}

words! {
    /// One way of proving an identity.
    pub enum Method {
        /// `[auth.certificate]`.
        Certificate = "certificate",
        /// `[auth.token]`.
        Token = "token",
        /// The credentials of registered devices; `[auth.registry]`.
        Registry = "registry",
        /// `[auth.password]`.
        Password = "password",
        /// `[auth.callback]`.
        Callback = "callback",
    }
}

words! {
    /// The devices that a cached answer of the callback is for.
    pub enum AnswerScope {
        /// The same client id with the same credentials from the same IP address.
        Device = "device",
        /// All devices of the app with the same user name, password and certificate.
        Credential = "credential",
    }
}

words! {
    /// What a user name beside a token means.
    pub enum TokenUsername {
        /// Nothing.
        Ignored = "ignored",
        /// It must be the user that the token names.
        Principal = "principal",
    }
}

words! {
    /// The algorithm that a key signs with.
    pub enum TokenAlgorithm {
        /// HMAC with SHA-256.
        Hs256 = "hs256",
        /// ECDSA on P-256.
        Es256 = "es256",
        /// Ed25519.
        EdDsa = "eddsa",
        /// RSA, PKCS #1 v1.5, with SHA-256.
        Rs256 = "rs256",
        /// RSA, PSS, with SHA-256.
        Ps256 = "ps256",
    }
}

words! {
    /// The part of a client certificate that names the user.
    pub enum CertificateName {
        /// The subject's common name.
        CommonName = "common-name",
        /// The alternative name of type DNS.
        Dns = "san-dns",
        /// The alternative name of type URI.
        Uri = "san-uri",
        /// The alternative name of type e-mail.
        Email = "san-email",
    }
}

/// A key that verifies tokens: `"ALGORITHM FILE"`, or `"ALGORITHM KID FILE"` for tokens that name their key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenKey {
    /// The only algorithm that this key verifies.
    pub algorithm: TokenAlgorithm,
    /// The `kid` of the tokens that it verifies.
    pub id: Option<String>,
    /// Its file.
    pub file: PathBuf,
}

impl Value for TokenKey {
    fn read(raw: &Raw, bounds: &Bounds) -> Result<Self, Misfit> {
        let expected = || Misfit::Kind("expected \"ALGORITHM FILE\" or \"ALGORITHM KID FILE\"".to_owned());
        let text = String::read(raw, bounds).map_err(|_| expected())?;
        let mut words = text.split_whitespace();
        let (Some(algorithm), Some(first)) = (words.next(), words.next()) else { return Err(expected()) };
        let (id, file) = match words.next() {
            None => (None, first),
            Some(file) => (Some(first.to_owned()), file),
        };
        if words.next().is_some() {
            return Err(expected());
        }
        let algorithm = TokenAlgorithm::read(&Raw::Word(algorithm.to_owned()), bounds)?;
        Ok(Self { algorithm, id, file: PathBuf::from(file) })
    }

    fn shown(&self) -> toml::Value {
        let algorithm = self.algorithm.shown();
        let id = self.id.as_ref().map(|id| format!("{id} ")).unwrap_or_default();
        toml::Value::String(format!("{} {id}{}", algorithm.as_str().unwrap_or_default(), self.file.display()))
    }

    fn kind() -> String {
        "\"ALGORITHM FILE\" or \"ALGORITHM KID FILE\"".to_owned()
    }
}

group! {
    /// The devices that may connect, and the topics that they may publish and subscribe to. Deny by
    /// default.
    pub struct Auth {
        /// Whether a device may connect that proves nothing. `without-credentials` lets in those that show none; what they
        /// may do is still the rules' business, but such a device may take any client id, and so read any inbox.
        /// `anyone` checks nothing and exists in trial mode only, which implies it.
        anonymous: Anonymous = Anonymous::Refused, cost "whoever reaches the port is a device";
        /// The order in which methods look at the credentials; the first that applies decides. One that is not listed is
        /// never asked.
        order: Vec<Method> =
            vec![Method::Certificate, Method::Token, Method::Registry, Method::Password, Method::Callback];
        /// What each may publish and subscribe to: TOML, first match wins, read again on SIGHUP. Without it a device reads
        /// its own inbox (`inbox/%c`, `inbox/%c/#`) and the channels (`channels/+`), and writes its uplink (`uplink/%c/#`).
        rules_file: Option<PathBuf> = None;
        /// Failures that an address may have at once before it is refused unseen. 0 means no limit.
        failures_per_address_max: u32 = 50, unit "failures", in 0..=1_000_000, cost "guesses that an attacker gets";
        /// Time after which an address may fail once more.
        failures_refill_ms: u32 = 2_000, unit "ms", in 1..=3_600_000;
        /// How long an address without any left is refused.
        failures_ban_s: u32 = 60, unit "s", in 1..=86_400, cost "honest devices behind the same address wait as long";
    }
    tables {
        /// User names and passwords.
        password: Password,
        /// Tokens.
        token: Token,
        /// Client certificates.
        certificate: Certificate,
        /// The registry of devices.
        registry: DeviceRegistry,
        /// A question to your own server.
        callback: Callback,
    }
}

group! {
    /// User names and passwords. On when `file` is set.
    pub struct Password {
        /// Lines of `user:$argon2id$...[:group,group]`, made by `stadium device passwd`. Read again when it changes and on
        /// SIGHUP.
        file: Option<PathBuf> = None;
        /// Which client ids a user may take: its own name, or `any`.
        client_id: ClientIdBinding = ClientIdBinding::Principal;
        /// Threads that compute hashes.
        threads: u16 = 2, unit "threads", in 1..=64, cost "19 MB each while it computes";
        /// Checks that wait for a thread; one more is asked to retry later. Addresses take turns,
        /// and the one with most gives up places in a full queue.
        queue_max: u32 = 512, unit "checks", in 1..=1_000_000, cost "waiting devices that time out all the same: a hash takes 20 ms";
        /// How long a pair that was right is remembered (as a keyed digest), so that a fleet that returns at once needs no
        /// hash for each device. 0 computes every time.
        remember_s: u32 = 3_600, unit "s", in 0..=604_800, cost "a stolen memory image holds digests for longer";
        /// Pairs that are remembered; the oldest is forgotten.
        remember_max: u32 = 131_072, unit "pairs", in 1..=10_000_000, cost "about 100 bytes each";
    }
}

group! {
    /// Signed tokens (JWT) as the MQTT password. On when it has a key.
    pub struct Token {
        /// Only tokens of this issuer (`iss`). Empty takes any.
        issuer: Option<String> = None;
        /// Only tokens for this audience (`aud`). Empty takes only tokens without one.
        audience: Option<String> = None;
        /// Clock difference tolerated for `exp` and `nbf`.
        leeway_s: u32 = 30, unit "s", in 0..=600, cost "tokens live this much longer";
        /// The claim that names the user (`%u` in rules).
        principal_claim: String = "sub".to_owned();
        /// A claim that the client id must equal. Empty leaves it to `client_id`.
        client_id_claim: Option<String> = None;
        /// Which client ids a user may take where no claim names them: its own name, or `any`.
        client_id: ClientIdBinding = ClientIdBinding::Principal;
        /// A claim with the user's groups: a list, or words with spaces between. Empty reads none.
        groups_claim: Option<String> = None;
        /// What the MQTT user name beside a token means.
        username: TokenUsername = TokenUsername::Ignored;
    }
    with {
        /// Its keys.
        sources: TokenKeys,
    }
}

group! {
    /// The keys that verify tokens.
    pub struct TokenKeys {
        /// Keys: HS256 secrets of at least 32 bytes; ES256, EdDSA, RS256 and PS256 public keys as
        /// PEM. Read again on SIGHUP.
        keys: Vec<TokenKey> = Vec::new();
        /// Files of JSON Web Key Sets. Read again on SIGHUP.
        key_sets: Vec<PathBuf> = Vec::new();
        /// URLs of JSON Web Key Sets, as an identity provider publishes them: `https://`, or
        /// `http://` on this machine. A set that cannot be fetched stays as it was, and is tried
        /// again after a delay that grows to 5 minutes.
        key_set_urls: Vec<String> = Vec::new();
        /// How often they are fetched. A token whose key is not known has them fetched earlier,
        /// every 10 s at most.
        key_set_refresh_s: u32 = 3_600, unit "s", in 10..=604_800, cost "a key that was withdrawn is good for so long";
        /// Authorities of their certificates, PEM. Empty means the system's.
        key_set_ca: Option<PathBuf> = None;
    }
}

impl TokenKeys {
    /// Whether no key is named, so that no token is believed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty() && self.key_sets.is_empty() && self.key_set_urls.is_empty()
    }
}

group! {
    /// The client certificate that a TLS listener has verified is the credential.
    pub struct Certificate {
        /// Take it: needs `client_certificates` of the listener.
        enabled: bool = false;
        /// The part that names the user (`%u` in rules); it must stand there exactly once.
        name: CertificateName = CertificateName::CommonName;
        /// Which client ids a user may take: its own name, or `any`.
        client_id: ClientIdBinding = ClientIdBinding::Principal;
    }
}

group! {
    /// Registered devices: one that is revoked stays out whatever it shows, and one that has a credential must show it as the MQTT password.
    /// The client id names the device: `DEVICE` of the app `default`, or `APP/DEVICE`.
    pub struct DeviceRegistry {
        /// Ask it about each device that connects. Off, neither credentials nor revocations keep anybody out.
        enabled: bool = true, cost "one question to a shard for each connect";
    }
}

group! {
    /// Your own server decides: POST with the credentials, an answer with `allow`. On when `url` is set.
    pub struct Callback {
        /// Where to ask, `http://` or `https://`.
        url: Option<String> = None;
        /// Authorities to trust for `https://`, PEM. Empty trusts the system's.
        authorities: Option<PathBuf> = None;
        /// How long an answer may take; then the device is asked to retry later.
        timeout_ms: u32 = 2_000, unit "ms", in 50..=9_000, cost "a dead callback holds its threads for longer";
        /// Calls at one time.
        in_flight_max: u16 = 8, unit "calls", in 1..=64, cost "a thread each";
        /// Devices that wait for a call; one more is asked to retry later. Addresses take turns as
        /// with passwords.
        queue_max: u32 = 512, unit "devices", in 1..=1_000_000, cost "about 1 KB each while they wait";
        /// How long a yes is remembered for the same credentials of the same client id. 0 asks each time.
        remember_s: u32 = 0, unit "s", in 0..=86_400, cost "a blocked device is let in for so long still";
        /// Answers that are remembered; the oldest is forgotten.
        remember_max: u32 = 65_536, unit "answers", in 1..=10_000_000, cost "about 100 bytes each";
        /// Calls without an answer, in a row, after which the callback is left alone for a while.
        failures_max: u32 = 5, unit "calls", in 1..=1_000;
        /// How long it is left alone; then one device's call tries it.
        rest_ms: u32 = 5_000, unit "ms", in 100..=600_000, cost "devices are asked to retry later for longer";
        /// The time for which a yes is kept in `[cache]` for all servers. 0 keeps those only whose answer names a time (`cache_s`). An answer that
        /// lives less than 5 s is not kept.
        cache_s: u32 = 0, unit "s", in 0..=86_400, cost "a blocked device is let in for so long still, on every server";
        /// The time for which a no is kept likewise.
        cache_denial_s: u32 = 0, unit "s", in 0..=3_600, cost "a device that was unblocked stays out for so long";
        /// The devices that a kept answer is for: `device`, the same client id with the same credentials from the same IP address; or
        /// `credential`, all devices of the app with the same user name, password and certificate. Choose `credential` where your
        /// server decides by these alone, as for a token that many devices share.
        cache_scope: AnswerScope = AnswerScope::Device, cost "with credential, your server does not see each client id and address";
    }
}
