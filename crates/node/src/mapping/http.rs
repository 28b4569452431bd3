//! The HTTP port, as `stadium_http` takes it.
//!
//! Fields without a setting keep the default of `stadium_http::Config`.

use std::net::SocketAddr;
use std::time::Duration;

use stadium_http::{CertificateNeed, ClientCertificates, Config, OidcConfig, PushBounds, TlsFiles};

use crate::settings::{self, Http, Settings};

/// The HTTP port's own settings, listening on `listen`.
pub(crate) fn config(settings: &Settings, listen: SocketAddr) -> Config {
    let http = &settings.http;
    let milliseconds = |ms: u32| Duration::from_millis(u64::from(ms));
    // Behind a proxy all requests come from one address.
    let (per_address, keyless) = match http.behind_proxy {
        true => (http.connections_max, 0),
        false => (http.connections_per_address_max, http.keyless_requests_per_second_max),
    };
    Config {
        open_read: http.open_read,
        echo: settings.server.trial,
        public_url: http.public_url.clone(),
        tls: http.certificate.clone().zip(http.key.clone()).map(|(certificate, key)| TlsFiles {
            certificate,
            key,
            clients: clients(http),
        }),
        oidc: oidc(http),
        allowed_origins: settings.server.allowed_origins.clone(),
        cors_origins: http.cors_origins.clone(),
        body_bytes_max: http.body_bytes_max as usize,
        message_bytes_max: http.message_bytes_max as usize,
        audience_devices_max: http.audience_devices_max as usize,
        head_timeout: milliseconds(http.header_ms),
        request_timeout: milliseconds(http.request_ms),
        write_timeout: milliseconds(http.write_ms),
        connections_max: http.connections_max as usize,
        connections_per_address_max: per_address as usize,
        keyless_requests_per_second_max: keyless,
        live_views_max: http.live_views_max as usize,
        audit_files_max: http.audit_files_max as usize,
        ..Config::new(listen, &settings.server.data)
    }
}

/// The certificates of clients; none where they are not asked. The authorities are found missing
/// before.
fn clients(http: &Http) -> Option<ClientCertificates> {
    let need = match http.client_certificates {
        settings::ClientCertificates::None => return None,
        settings::ClientCertificates::Optional => CertificateNeed::Optional,
        settings::ClientCertificates::Required => CertificateNeed::Required,
    };
    let authorities = http.client_ca.clone()?;
    Some(ClientCertificates { authorities, revocation_lists: http.client_crl.clone(), need })
}

/// Sign-in of people; none without an issuer. The settings that it needs beside are found missing
/// before.
pub(crate) fn oidc(http: &Http) -> Option<OidcConfig> {
    let oidc = &http.oidc;
    let rows = |(group, roles): (&String, &Vec<_>)| {
        roles.iter().map(|role| (group.clone(), *role)).collect::<Vec<_>>()
    };
    Some(OidcConfig {
        issuer: oidc.issuer.clone()?,
        client_id: oidc.client_id.clone().unwrap_or_default(),
        client_secret_file: oidc.client_secret_file.clone(),
        redirect_url: oidc.redirect_url.clone().unwrap_or_default(),
        post_logout_redirect_url: oidc.post_logout_redirect_url.clone(),
        scopes: Some(oidc.scopes.clone()).filter(|scopes| !scopes.is_empty()),
        groups_claim: oidc.groups_claim.clone(),
        ca: oidc.ca.clone(),
        roles: oidc.roles.0.iter().flat_map(rows).collect(),
        session: Duration::from_secs(u64::from(oidc.session_hours) * 3_600),
        idle: Duration::from_secs(u64::from(oidc.idle_minutes) * 60),
    })
}

/// Where the port speaks plain HTTP to others than this machine, without a proxy that is declared.
pub(crate) fn plain_text(http: &Http) -> Option<SocketAddr> {
    let is_covered = http.certificate.is_some() || http.behind_proxy;
    http.listen.filter(|address| !address.ip().is_loopback() && !is_covered)
}

/// How large a push may be, wherever it comes from.
pub(crate) fn push_bounds(http: &Http) -> PushBounds {
    PushBounds {
        message_bytes_max: http.message_bytes_max as usize,
        audience_devices_max: http.audience_devices_max as usize,
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::settings::from_toml;

    fn http(text: &str) -> Http {
        from_toml(text, Path::new("s.toml")).expect("it is right").settings.http
    }

    #[test]
    fn plain_http_for_others_is_found_unless_a_proxy_or_a_certificate_covers_it() {
        assert_eq!(plain_text(&http("")), None);
        let open = "[http]\nlisten = \"0.0.0.0:8080\"\n";
        assert_eq!(plain_text(&http(open)), Some(([0, 0, 0, 0], 8080).into()));
        assert_eq!(plain_text(&http(&format!("{open}behind_proxy = true\n"))), None);
        assert_eq!(plain_text(&http(&format!("{open}certificate = \"c\"\nkey = \"k\"\n"))), None);
    }

    #[test]
    fn sign_in_is_off_without_an_issuer_and_has_a_row_for_each_role() {
        assert!(oidc(&http("")).is_none());
        let text = "[http.oidc]\nissuer = \"https://i\"\nclient_id = \"c\"\nidle_minutes = 5\n\
                    redirect_url = \"https://h/auth/callback\"\n[http.oidc.roles]\n\
                    \"/team/a.b\" = [\"operator\", \"sender\"]\nviewers = [\"viewer\"]\n";
        let oidc = oidc(&http(text)).expect("it is on");
        let rows: Vec<_> = oidc.roles.iter().map(|(group, role)| (group.as_str(), role.word())).collect();
        assert_eq!(rows, [("/team/a.b", "operator"), ("/team/a.b", "sender"), ("viewers", "viewer")]);
        assert_eq!((oidc.session.as_secs(), oidc.idle.as_secs(), oidc.scopes), (43_200, 300, None));
    }

    #[test]
    fn behind_a_proxy_no_address_has_a_bound() {
        let mut settings = from_toml("", Path::new("s.toml")).expect("it is right").settings;
        let bounds = |settings: &Settings| {
            let config = config(settings, ([127, 0, 0, 1], 0).into());
            (config.connections_per_address_max, config.keyless_requests_per_second_max)
        };
        assert_eq!(bounds(&settings), (256, 500));
        settings.http.behind_proxy = true;
        assert_eq!(bounds(&settings), (1_024, 0));
    }
}
