//! Files that settings name: certificates with their keys, authorities, passwords, keys of tokens, rules.
//!
//! They are read by the code that reads them at a start, each for itself, so that one does not hide another.

use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use rustls::pki_types::CertificateDer;
use stadium_edge::auth::{AnswerCacheConfig, AuthConfig, Authenticator, CallbackConfig, RulesConfig};
use stadium_reactor::tls::{
    ClientCertificates, ServerTls, ServerTlsSettings, certificates_from_pem, identity_from_pem,
};
use stadium_token_keys::{KeyFetchConfig, KeySources, Keys};
use x509_parser::certificate::X509Certificate;
use x509_parser::prelude::FromDer as _;

use super::{Findings, Severity};
use crate::mapping;
use crate::settings::{self, Access, Code, Settings, Tls};

/// Days before the end of a certificate from which on it is a warning.
const EXPIRES_SOON_DAYS: i64 = 30;

const ERROR: (Severity, Code) = (Severity::Error, Code::Named);
const WARNING: (Severity, Code) = (Severity::Warning, Code::Named);

/// Reads all of them.
pub(super) fn check(findings: &mut Findings<'_>) {
    let settings = findings.loaded.settings.clone();
    let http = Tls {
        certificate: settings.http.certificate.clone(),
        key: settings.http.key.clone(),
        client_ca: settings.http.client_ca.clone(),
        ..no_tls()
    };
    let (wss, mqtts) = (settings.wss.listen.is_off(), settings.mqtts.listen.is_off());
    for (table, tls, is_off) in [
        ("mqtts", &settings.mqtts.tls, mqtts),
        ("wss", &settings.wss.tls, wss),
        ("http", &http, settings.http.listen.is_none()),
        ("rpc", &settings.rpc.tls, settings.rpc.listen.is_off() && settings.rpc.websocket_listen.is_off()),
    ] {
        // A certificate of a port that is off is not read at a start.
        let worst = if is_off { WARNING } else { ERROR };
        let (certificate, key) = (format!("{table}.certificate"), format!("{table}.key"));
        identity(findings, worst, (&certificate, tls.certificate.as_deref()), (&key, tls.key.as_deref()));
        authorities(findings, worst, &format!("{table}.client_ca"), tls.client_ca.as_deref());
    }
    authorities(findings, ERROR, "rpc.calls_ca", settings.rpc.calls_ca.as_deref());
    authorities(findings, ERROR, "auth.callback.authorities", settings.auth.callback.authorities.as_deref());
    let (cluster, links) = (&settings.cluster, &settings.cluster.links);
    for (table, store) in [
        ("discovery", &settings.discovery.access),
        ("cluster.etcd", &cluster.etcd.access),
        ("cluster.kafka", &cluster.kafka.access),
        ("cache", &settings.cache.access),
    ] {
        access(findings, table, store);
    }
    let (certificate, key) = (links.certificate.as_deref(), links.key.as_deref());
    identity(findings, ERROR, ("cluster.links.certificate", certificate), ("cluster.links.key", key));
    authorities(findings, ERROR, "cluster.links.ca", links.ca.as_deref());
    sign_in(findings, &settings);
    passwords_tokens_rules(findings, &settings);
}

/// The files by which a store and this process know each other.
fn access(findings: &mut Findings<'_>, table: &str, access: &Access) {
    let setting = |key: &str| format!("{table}.{key}");
    authorities(findings, ERROR, &setting("ca"), access.ca.as_deref());
    let (certificate, key) = (access.certificate.as_deref(), access.key.as_deref());
    identity(findings, ERROR, (&setting("certificate"), certificate), (&setting("key"), key));
    if let Some(path) = &access.password_file {
        readable(findings, ERROR, &setting("password_file"), path);
    }
}

/// The client's secret and the provider's authorities.
fn sign_in(findings: &mut Findings<'_>, settings: &Settings) {
    let Some(oidc) = mapping::http::oidc(&settings.http) else { return };
    match oidc.check_with_files() {
        Ok(()) => authorities(findings, WARNING, "http.oidc.ca", oidc.ca.as_deref()),
        Err(wrong) => {
            let file = match wrong.name {
                "client_secret_file" => oidc.client_secret_file,
                "ca" => oidc.ca,
                _ => None,
            };
            let setting = format!("http.oidc.{}", wrong.name);
            findings.add(ERROR, &setting, file, wrong.problem, "docs/sign-in.md describes the settings");
        }
    }
}

fn no_tls() -> Tls {
    Tls {
        certificate: None,
        key: None,
        client_ca: None,
        client_crl: None,
        client_certificates: settings::ClientCertificates::None,
    }
}

/// A file's bytes; a finding where it cannot be read.
fn readable(
    findings: &mut Findings<'_>,
    worst: (Severity, Code),
    setting: &str,
    path: &Path,
) -> Option<Vec<u8>> {
    match std::fs::read(path) {
        Ok(bytes) => Some(bytes),
        Err(error) => {
            let remedy = match error.kind() {
                std::io::ErrorKind::NotFound => "put the file there, or name another",
                std::io::ErrorKind::PermissionDenied => "let this user read it (chown, chmod)",
                _ => "name a file that can be read",
            };
            findings.add(
                worst,
                setting,
                Some(path.to_owned()),
                format!("it cannot be read: {error}"),
                remedy,
            );
            None
        }
    }
}

/// A certificate, its key, and whether they are one pair.
fn identity(
    findings: &mut Findings<'_>,
    worst: (Severity, Code),
    (certificate_setting, certificate): (&str, Option<&Path>),
    (key_setting, key): (&str, Option<&Path>),
) {
    let chain = certificate.and_then(|path| {
        let bytes = readable(findings, worst, certificate_setting, path)?;
        let chain = parse_certificates(findings, worst, certificate_setting, path, &bytes)?;
        for (place, certificate) in chain.iter().enumerate() {
            let expired = if place == 0 { worst } else { WARNING };
            dates(findings, expired, certificate_setting, path, certificate);
        }
        Some((path, bytes))
    });
    let key = key.and_then(|path| Some((path, readable(findings, worst, key_setting, path)?)));
    let (Some((certificate, chain)), Some((key, key_bytes))) = (chain, key) else { return };
    let identity = match identity_from_pem(&chain, &key_bytes) {
        Ok(identity) => identity,
        Err(error) => {
            let remedy = "the file holds one private key, PEM (PKCS#8, PKCS#1 or SEC1)";
            findings.add(worst, key_setting, Some(key.to_owned()), error.to_string(), remedy);
            return;
        }
    };
    let tls = ServerTlsSettings { identity, client_certificates: ClientCertificates::None, alpn: Vec::new() };
    if let Err(error) = ServerTls::new(&tls) {
        let message =
            format!("the certificate in {} and this key are no pair: {error}", certificate.display());
        let remedy = format!("name the key that {certificate_setting} was made for");
        findings.add(worst, key_setting, Some(key.to_owned()), message, remedy);
    }
}

/// A file of authorities: at least one, none of them over.
fn authorities(findings: &mut Findings<'_>, worst: (Severity, Code), setting: &str, path: Option<&Path>) {
    let Some(path) = path else { return };
    let Some(bytes) = readable(findings, worst, setting, path) else { return };
    let Some(roots) = parse_certificates(findings, worst, setting, path, &bytes) else { return };
    for root in &roots {
        dates(findings, WARNING, setting, path, root);
    }
}

fn parse_certificates(
    findings: &mut Findings<'_>,
    worst: (Severity, Code),
    setting: &str,
    path: &Path,
    bytes: &[u8],
) -> Option<Vec<CertificateDer<'static>>> {
    let message = match certificates_from_pem(bytes) {
        Ok(chain) if !chain.is_empty() => return Some(chain),
        Ok(_) => "there is no certificate in it".to_owned(),
        Err(error) => error.to_string(),
    };
    findings.add(worst, setting, Some(path.to_owned()), message, "the file holds certificates, PEM");
    None
}

/// Whether now is between a certificate's dates.
fn dates(
    findings: &mut Findings<'_>,
    expired: (Severity, Code),
    setting: &str,
    path: &Path,
    der: &CertificateDer<'_>,
) {
    let Ok((_, certificate)) = X509Certificate::from_der(der) else {
        let remedy = "make it again";
        findings.add(expired, setting, Some(path.to_owned()), "a certificate in it is no X.509", remedy);
        return;
    };
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs() as i64);
    let (from, until) = (certificate.validity().not_before, certificate.validity().not_after);
    let subject = certificate.subject();
    let days = (until.timestamp() - now).div_euclid(86_400);
    let (severity, message) = if until.timestamp() < now {
        (expired, format!("the certificate of {subject} ended on {until}"))
    } else if from.timestamp() > now {
        (expired, format!("the certificate of {subject} begins on {from}"))
    } else if days < EXPIRES_SOON_DAYS {
        (WARNING, format!("the certificate of {subject} ends in {days} days, on {until}"))
    } else {
        return;
    };
    findings.add(severity, setting, Some(path.to_owned()), message, "renew it, then send SIGHUP");
}

/// What the authenticator reads, one thing at a time.
fn passwords_tokens_rules(findings: &mut Findings<'_>, settings: &Settings) {
    let whole = mapping::auth::config(settings);
    let nothing = AuthConfig::default;
    if let (Some(callback), Some(file)) = (whole.callback, &settings.cache.secret_file) {
        // The secret alone: authorities and logins are looked at elsewhere, and nothing is asked.
        let url = "http://127.0.0.1/".to_owned();
        let bare = |cache: AnswerCacheConfig| AnswerCacheConfig {
            client: stadium_memcache::Config { tls: None, ..cache.client },
            login: None,
            ..cache
        };
        let cache = callback.cache.map(bare);
        let callback = CallbackConfig { url, authorities: None, cache, ..callback };
        let remedy = "`openssl rand -base64 48` makes a secret, the same for all servers that share answers";
        let config = AuthConfig { callback: Some(callback), ..nothing() };
        opens(findings, config, "cache.secret_file", Some(file.clone()), remedy);
    }
    if let Some(login) = mapping::cache::login(&settings.cache)
        && let Err(error) = login.credentials()
    {
        let remedy = "the file holds the password of cache.user, as in the file of `memcached -Y`";
        let setting = "cache.password_file";
        findings.add(ERROR, setting, Some(login.password_file), error.to_string(), remedy);
    }
    if let Some(password) = whole.password {
        let file = settings.auth.password.file.clone();
        let remedy = "`stadium device passwd` writes its lines";
        opens(
            findings,
            AuthConfig { password: Some(password), ..nothing() },
            "auth.password.file",
            file,
            remedy,
        );
    }
    for (table, keys) in
        [("auth.token", &settings.auth.token.sources), ("rpc.tokens", &settings.rpc.tokens.sources)]
    {
        if let Some(sources) = mapping::auth::key_sources(keys) {
            token_keys(findings, table, &sources);
        }
    }
    if let Some(file) = &settings.backup.secrets_key_file
        && let Err(error) = stadium_archive::SecretsKey::read(file)
    {
        let remedy = "`openssl rand -base64 48` makes a secret; keep a copy elsewhere";
        findings.add(ERROR, "backup.secrets_key_file", Some(file.clone()), error.to_string(), remedy);
    }
    if let Some(file) = &settings.auth.rules_file {
        let config = AuthConfig { rules: RulesConfig::File(file.clone()), ..nothing() };
        let remedy = "examples/rules.toml shows rules";
        opens(findings, config, "auth.rules_file", Some(file.clone()), remedy);
    }
}

/// The keys of tokens, one source at a time.
fn token_keys(findings: &mut Findings<'_>, table: &str, sources: &KeySources) {
    let KeySources { keys, key_sets, fetch } = sources;
    let fetching = |urls| KeyFetchConfig { urls, ..fetch.clone() };
    let nothing = || KeySources { fetch: fetching(Vec::new()), ..KeySources::default() };
    let of_key = keys.iter().map(|key| {
        let one = KeySources { keys: vec![key.clone()], ..nothing() };
        let remedy = "the file holds the key of its algorithm: docs/device-authentication.md";
        ("keys", one, Some(key.file.clone()), remedy)
    });
    let of_set = key_sets.iter().map(|set| {
        let one = KeySources { key_sets: vec![set.clone()], ..nothing() };
        ("key_sets", one, Some(set.clone()), "the file is a JSON Web Key Set (RFC 7517)")
    });
    let of_url = fetch.urls.iter().map(|url| {
        let one = KeySources { fetch: fetching(vec![url.clone()]), ..nothing() };
        ("key_set_urls", one, None, "a set is fetched over https:// (http:// from this machine only)")
    });
    for (setting, one, file, remedy) in of_key.chain(of_set).chain(of_url) {
        if let Err(error) = Keys::open(one) {
            findings.add(ERROR, &format!("{table}.{setting}"), file, error.to_string(), remedy);
        }
    }
}

fn opens(
    findings: &mut Findings<'_>,
    config: AuthConfig,
    setting: &str,
    file: Option<PathBuf>,
    remedy: &str,
) {
    if let Err(error) = Authenticator::open(&config) {
        findings.add(ERROR, setting, file, error.to_string(), remedy);
    }
}
