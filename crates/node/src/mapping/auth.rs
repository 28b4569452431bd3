//! Authentication and authorisation, as `stadium_edge::auth` takes them.
//!
//! Every setting of `[auth]` has its field there; files are opened by the authenticator itself.

use std::path::PathBuf;
use std::time::Duration;

use stadium_addresses::Limit;
use stadium_edge::auth::{
    AnonymousAccess, AnswerCacheConfig, AnswerScope, AuthConfig, CallbackConfig, CertificateConfig,
    CertificateName, ClientIdBinding, Method, PasswordConfig, RegistryAccess, RulesConfig, TokenConfig,
    TokenUsername,
};
use stadium_token_keys::{KeyFetchConfig, KeySources, TokenAlgorithm, TokenKeyConfig};

use super::cache;
use crate::settings::{self, Auth, Cache, Callback, Certificate, Password, Settings, Token, TokenKeys};

/// Rules that were set over the HTTP API, where `auth.rules_file` names no file.
const KEPT_RULES: &str = "rules.toml";

/// The devices that may connect, and their rights. In trial mode everything is allowed, unless
/// a rules file restricts it.
pub(crate) fn config(settings: &Settings) -> AuthConfig {
    let auth = &settings.auth;
    AuthConfig {
        anonymous: match auth.anonymous {
            settings::Anonymous::Refused => AnonymousAccess::Refused,
            settings::Anonymous::WithoutCredentials => AnonymousAccess::WithoutCredentials,
            settings::Anonymous::Anyone => AnonymousAccess::Anyone,
        },
        password: password(&auth.password),
        token: token(&auth.token),
        certificate: certificate(&auth.certificate),
        callback: callback(&auth.callback, &settings.cache),
        registry: if auth.registry.enabled { RegistryAccess::Asked } else { RegistryAccess::Unasked },
        order: auth.order.iter().map(method).collect(),
        failures: failures(auth),
        rules: match &auth.rules_file {
            Some(file) => RulesConfig::File(file.clone()),
            None if settings.server.trial => RulesConfig::Everything,
            None => RulesConfig::Kept(settings.server.data.join(KEPT_RULES)),
        },
    }
}

fn method(method: &settings::Method) -> Method {
    match method {
        settings::Method::Certificate => Method::Certificate,
        settings::Method::Token => Method::Token,
        settings::Method::Registry => Method::Registry,
        settings::Method::Password => Method::Password,
        settings::Method::Callback => Method::Callback,
    }
}

fn failures(auth: &Auth) -> Option<Limit> {
    (auth.failures_per_address_max > 0).then(|| Limit {
        burst: auth.failures_per_address_max,
        refill: Duration::from_millis(u64::from(auth.failures_refill_ms)),
        ban: seconds(auth.failures_ban_s),
    })
}

fn password(password: &Password) -> Option<PasswordConfig> {
    password.file.as_ref().map(|file| PasswordConfig {
        client_id: binding(password.client_id),
        threads: usize::from(password.threads),
        queue_max: password.queue_max as usize,
        remember: seconds(password.remember_s),
        remember_max: password.remember_max as usize,
        ..PasswordConfig::new(file)
    })
}

fn token(token: &Token) -> Option<TokenConfig> {
    let KeySources { keys, key_sets, fetch } = key_sources(&token.sources)?;
    Some(TokenConfig {
        keys,
        key_sets,
        fetch,
        issuer: token.issuer.clone(),
        audience: token.audience.clone(),
        leeway: seconds(token.leeway_s),
        principal_claim: token.principal_claim.clone(),
        client_id_claim: token.client_id_claim.clone(),
        client_id: binding(token.client_id),
        groups_claim: token.groups_claim.clone(),
        username: match token.username {
            settings::TokenUsername::Ignored => TokenUsername::Ignored,
            settings::TokenUsername::Principal => TokenUsername::MustEqualPrincipal,
        },
    })
}

/// The keys that verify tokens; `None` where the settings name none.
pub(crate) fn key_sources(keys: &TokenKeys) -> Option<KeySources> {
    let key = |key: &settings::TokenKey| TokenKeyConfig {
        id: key.id.clone(),
        algorithm: match key.algorithm {
            settings::TokenAlgorithm::Hs256 => TokenAlgorithm::Hs256,
            settings::TokenAlgorithm::Es256 => TokenAlgorithm::Es256,
            settings::TokenAlgorithm::EdDsa => TokenAlgorithm::EdDsa,
            settings::TokenAlgorithm::Rs256 => TokenAlgorithm::Rs256,
            settings::TokenAlgorithm::Ps256 => TokenAlgorithm::Ps256,
        },
        file: key.file.clone(),
    };
    let sources = KeySources {
        keys: keys.keys.iter().map(key).collect(),
        key_sets: keys.key_sets.clone(),
        fetch: KeyFetchConfig {
            urls: keys.key_set_urls.clone(),
            authorities: keys.key_set_ca.clone(),
            refresh: seconds(keys.key_set_refresh_s),
            ..KeyFetchConfig::default()
        },
    };
    (!keys.is_empty()).then_some(sources)
}

/// The part of a certificate that names its holder.
pub(crate) fn certificate_name(name: settings::CertificateName) -> CertificateName {
    match name {
        settings::CertificateName::CommonName => CertificateName::CommonName,
        settings::CertificateName::Dns => CertificateName::SanDns,
        settings::CertificateName::Uri => CertificateName::SanUri,
        settings::CertificateName::Email => CertificateName::SanEmail,
    }
}

fn certificate(certificate: &Certificate) -> Option<CertificateConfig> {
    certificate.enabled.then(|| CertificateConfig {
        name: certificate_name(certificate.name),
        client_id: binding(certificate.client_id),
    })
}

fn callback(callback: &Callback, cache: &Cache) -> Option<CallbackConfig> {
    let answers = |secret_file: &PathBuf| {
        Some(AnswerCacheConfig {
            client: cache::client(cache).ok()?,
            login: cache::login(cache),
            secret_file: secret_file.clone(),
            keep: seconds(callback.cache_s),
            keep_denial: seconds(callback.cache_denial_s),
            scope: match callback.cache_scope {
                settings::AnswerScope::Device => AnswerScope::Device,
                settings::AnswerScope::Credential => AnswerScope::Credential,
            },
        })
    };
    let is_cached = !cache.servers.is_empty();
    callback.url.as_ref().map(|url| CallbackConfig {
        authorities: callback.authorities.clone(),
        timeout: Duration::from_millis(u64::from(callback.timeout_ms)),
        in_flight_max: usize::from(callback.in_flight_max),
        queue_max: callback.queue_max as usize,
        remember: seconds(callback.remember_s),
        remember_max: callback.remember_max as usize,
        failures_max: callback.failures_max,
        rest: Duration::from_millis(u64::from(callback.rest_ms)),
        cache: cache.secret_file.as_ref().filter(|_| is_cached).and_then(answers),
        ..CallbackConfig::new(url)
    })
}

fn binding(binding: settings::ClientIdBinding) -> ClientIdBinding {
    match binding {
        settings::ClientIdBinding::Principal => ClientIdBinding::MustEqualPrincipal,
        settings::ClientIdBinding::Any => ClientIdBinding::Any,
    }
}

fn seconds(seconds: u32) -> Duration {
    Duration::from_secs(u64::from(seconds))
}
