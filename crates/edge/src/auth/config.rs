//! What an operator may choose about authentication, as plain structs.
//!
//! Names of settings, their documentation for people and their reading belong to the node; secrets are
//! always in files, never in these structs, so that printing a configuration cannot leak one.

use std::path::PathBuf;
use std::time::Duration;

use stadium_addresses::Limit;
use stadium_reactor::tls::CertificateName;
use stadium_token_keys::{KeyFetchConfig, TokenKeyConfig};

use stadium_grants::topics::TopicRule;

/// Everything about who is let in and what they may do.
///
/// The default lets nobody in.
#[derive(Debug, Clone)]
pub struct AuthConfig {
    /// Whether a device that proves nothing is let in.
    pub anonymous: AnonymousAccess,
    /// Names and argon2 hashes.
    pub password: Option<PasswordConfig>,
    /// Signed tokens in the place of the password.
    pub token: Option<TokenConfig>,
    /// Client certificates that the TLS layer has verified.
    pub certificate: Option<CertificateConfig>,
    /// A service that is asked about each device.
    pub callback: Option<CallbackConfig>,
    /// Whether the registry of devices is asked, once the authenticator was introduced to it.
    pub registry: RegistryAccess,
    /// The order in which methods look at the credentials; the first that applies decides. A method that
    /// is not configured is skipped, and one that is not listed is never asked.
    ///
    /// A certificate applies when there is one, a token when the password has the form of one, the registry
    /// when it has a credential for the device, the password file when there are a name and a password (a name
    /// it doesn't know goes on to the next method), the callback always.
    pub order: Vec<Method>,
    /// The bound on failures of one address, or `None` for no bound.
    pub failures: Option<Limit>,
    /// The rules of [`Policy`](super::Policy).
    pub rules: RulesConfig,
}

impl Default for AuthConfig {
    fn default() -> Self {
        Self {
            anonymous: AnonymousAccess::Refused,
            password: None,
            token: None,
            certificate: None,
            callback: None,
            registry: RegistryAccess::Asked,
            order: vec![
                Method::Certificate,
                Method::Token,
                Method::Registry,
                Method::Password,
                Method::Callback,
            ],
            failures: Some(FAILURES),
            rules: RulesConfig::Default,
        }
    }
}

/// One way of proving an identity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// See [`CertificateConfig`].
    Certificate,
    /// See [`TokenConfig`].
    Token,
    /// See [`PasswordConfig`].
    Password,
    /// See [`CallbackConfig`].
    Callback,
    /// Its credential in the registry of devices; see [`DeviceRegistry`](super::DeviceRegistry).
    Registry,
}

/// Whether the registry of devices is asked about each device that connects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RegistryAccess {
    /// It is: a revoked device stays out, and where the order names the registry, a device that has a credential must show it.
    #[default]
    Asked,
    /// It is not: credentials and revocations of the registry mean nothing to who connects.
    Unasked,
}

/// Whether a device that proves nothing is let in.
///
/// With the default rules an anonymous device may take any client identifier, and so read any inbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AnonymousAccess {
    /// It is not.
    #[default]
    Refused,
    /// It is, when it shows no user name, no password and no certificate.
    WithoutCredentials,
    /// Everybody is, whatever they show, and nothing that they show is checked. For the trial mode.
    Anyone,
}

/// Whether an identity is tied to the client identifier that it connects with.
///
/// The client identifier names the session, its inbox and its uplink: who may choose it freely may read
/// another device's inbox. A client identifier that the server assigns is always allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ClientIdBinding {
    /// The client identifier must be the principal's name.
    #[default]
    MustEqualPrincipal,
    /// Any, for several devices behind one name that trust each other.
    Any,
}

/// The password file: one `user:$argon2id$...[:group,group]` a line, `#` starts a comment.
#[derive(Debug, Clone)]
pub struct PasswordConfig {
    /// The file. It is read again when asked, and when it has changed (looked at once a second at most).
    pub file: PathBuf,
    /// Which client identifiers a user may take.
    pub client_id: ClientIdBinding,
    /// Threads that compute hashes, 1 to 64. Each may hold the memory that a hash names (19 MiB by default).
    pub threads: usize,
    /// Checks that wait for a thread; one more is answered busy. A hash takes some 20 ms, so the default is
    /// what one thread computes within the 10 s that a connection may take to authenticate.
    pub queue_max: usize,
    /// How long a pair that was right is remembered, so that a fleet that comes back at once needs no hash for
    /// each device. A keyed digest is kept, never the password. Zero turns it off.
    pub remember: Duration,
    /// Pairs that are remembered, about 100 bytes each; the oldest is forgotten first.
    pub remember_max: usize,
}

impl PasswordConfig {
    /// The defaults for this file.
    pub fn new(file: impl Into<PathBuf>) -> Self {
        Self {
            file: file.into(),
            client_id: ClientIdBinding::default(),
            threads: 2,
            queue_max: 512,
            remember: Duration::from_secs(3600),
            remember_max: 131_072,
        }
    }
}

/// JSON Web Tokens (RFC 7519), carried as the MQTT password.
#[derive(Debug, Clone)]
pub struct TokenConfig {
    /// Keys in files; read again like the password file. At most 64 in all.
    pub keys: Vec<TokenKeyConfig>,
    /// Files of JSON Web Key Sets (RFC 7517) beside the keys.
    pub key_sets: Vec<PathBuf>,
    /// Key sets that are fetched.
    pub fetch: KeyFetchConfig,
    /// Required `iss`, where given.
    pub issuer: Option<String>,
    /// Required member of `aud`, where given. A token with an `aud` is refused where none is given
    /// (RFC 7519, 4.1.3).
    pub audience: Option<String>,
    /// Tolerance for clocks in `exp` and `nbf`; 0 to 10 minutes.
    pub leeway: Duration,
    /// The claim that names the principal.
    pub principal_claim: String,
    /// A claim that must equal the client identifier. Without it, [`TokenConfig::client_id`] decides.
    pub client_id_claim: Option<String>,
    /// Which client identifiers a principal may take where no claim states it.
    pub client_id: ClientIdBinding,
    /// A claim with groups: a list of strings, or one string with spaces between.
    pub groups_claim: Option<String>,
    /// What the MQTT user name beside a token means.
    pub username: TokenUsername,
}

impl Default for TokenConfig {
    fn default() -> Self {
        Self {
            keys: Vec::new(),
            key_sets: Vec::new(),
            fetch: KeyFetchConfig::default(),
            issuer: None,
            audience: None,
            leeway: Duration::from_secs(30),
            principal_claim: "sub".to_owned(),
            client_id_claim: None,
            client_id: ClientIdBinding::default(),
            groups_claim: None,
            username: TokenUsername::Ignored,
        }
    }
}

/// What the MQTT user name beside a token means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TokenUsername {
    /// Nothing.
    #[default]
    Ignored,
    /// It must be the principal that the token names.
    MustEqualPrincipal,
}

/// Client certificates. The TLS layer verifies the chain and the dates; this states whom one names.
#[derive(Debug, Clone, Default)]
pub struct CertificateConfig {
    /// Where the principal's name stands.
    pub name: CertificateName,
    /// Which client identifiers a principal may take.
    pub client_id: ClientIdBinding,
}

/// An HTTP service that is asked about each device.
///
/// It gets a POST of `{"client_id", "username", "password" or "password_base64", "certificate_subject", "peer"}` and
/// answers 200 `{"allow": true, "principal": "..", "groups": [".."], "cache_s": 60}`, or `{"allow": false}`, or a 4xx
/// status, which denies (408 and 429 excepted). Anything else, or no answer in time, asks the device to
/// reconnect later.
#[derive(Debug, Clone)]
pub struct CallbackConfig {
    /// Where to post: `http://` or `https://`.
    pub url: String,
    /// For `https`: PEM file of the authorities to trust. None: the system's bundle, /etc/ssl/certs/ca-certificates.crt.
    pub authorities: Option<PathBuf>,
    /// Time for the whole call, 50 ms to 9 s; a connection has 10 s to authenticate.
    pub timeout: Duration,
    /// Calls at one time, each on a thread of its own; 1 to 64.
    pub in_flight_max: usize,
    /// Devices that wait for a call; one more is answered busy.
    pub queue_max: usize,
    /// How long a yes is remembered for the same credentials of the same client identifier, zero for not at all.
    /// A device that is blocked at the service is let in for so long still.
    pub remember: Duration,
    /// Answers that are remembered; the oldest is forgotten first.
    pub remember_max: usize,
    /// Calls without an answer, in a row, after which the service is left alone for [`CallbackConfig::rest`].
    pub failures_max: u32,
    /// How long a service that does not answer is left alone; then one device's call tries it.
    pub rest: Duration,
    /// memcached servers that keep its answers for all servers that share them; none: each asks for itself.
    pub cache: Option<AnswerCacheConfig>,
}

/// The cache in which answers of the callback are kept for other servers, and their lifetimes.
///
/// An answer may name its own lifetime, `"cache_s"`. A user that is blocked at the service is let in until then.
#[derive(Debug, Clone)]
pub struct AnswerCacheConfig {
    /// The client of memcached. Its `timeout` is the time by which it may delay a device: a half is for
    /// reading, a half for writing.
    pub client: stadium_memcache::Config,
    /// The login at the memcached servers; none: they ask nobody.
    pub login: Option<CacheLogin>,
    /// File with at least 32 bytes: keys are hashed with it and entries authenticated. The same on all
    /// servers that share answers.
    pub secret_file: PathBuf,
    /// The life of a yes whose answer names none; zero keeps it not at all.
    pub keep: Duration,
    /// The life of a no likewise.
    pub keep_denial: Duration,
    /// The devices that an answer is for.
    pub scope: AnswerScope,
}

/// A login on memcached servers with `memcached -Y`.
#[derive(Debug, Clone)]
pub struct CacheLogin {
    /// The user.
    pub user: String,
    /// File with the password, one line.
    pub password_file: PathBuf,
}

/// The devices that one answer of the callback is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AnswerScope {
    /// The same client identifier with the same credentials from the same IP address.
    #[default]
    Device,
    /// All devices of the app that show the same user name, password and certificate. The service must
    /// decide by these alone.
    Credential,
}

impl CallbackConfig {
    /// The defaults for this address.
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            authorities: None,
            timeout: Duration::from_secs(2),
            in_flight_max: 8,
            queue_max: 512,
            remember: Duration::ZERO,
            remember_max: 65_536,
            failures_max: 5,
            rest: Duration::from_secs(5),
            cache: None,
        }
    }
}

/// The bound on failures of one address (each /64 for IPv6) where the configuration names none.
///
/// Only failures that guessing could cause are counted: wrong passwords and tokens, refusals of the
/// callback, wrong client identifiers. Many devices may share one address behind a carrier's
/// translation: the bucket is deep, and a ban short.
pub const FAILURES: Limit = Limit { burst: 50, refill: Duration::from_secs(2), ban: Duration::from_secs(60) };

/// Where the rules of [`Policy`](super::Policy) come from.
#[derive(Debug, Clone, Default)]
pub enum RulesConfig {
    /// Read `inbox/%c`, `inbox/%c/#` and `channels/+`; write `uplink/%c/#`.
    #[default]
    Default,
    /// Every topic, for the trial mode.
    Everything,
    /// These, in this order.
    Inline(Vec<TopicRule>),
    /// A TOML file of `[[rule]]` tables; read again when asked.
    File(PathBuf),
    /// The same, in a file of the data directory that the server writes when rules are set; until
    /// then the default rules.
    Kept(PathBuf),
}
