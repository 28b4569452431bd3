//! Settings that are right alone and wrong together.
//!
//! Runs only on values that are each within their bounds. A conflict is laid at the setting whose value someone
//! gave, and its message names the other.

use super::define::Effective;
use super::layers::Origin;
use super::problem::{Code, Problem};
use super::sections::{Anonymous, ClientCertificates, Settings, Tls};
use super::value::Addresses;

/// Every conflict between the settings.
pub(super) fn find(settings: &Settings, effective: &[Effective]) -> Vec<Problem> {
    let mut finder = Finder { effective, found: Vec::new() };
    finder.tls("mqtts", &settings.mqtts.listen, &settings.mqtts.tls);
    finder.tls("wss", &settings.wss.listen, &settings.wss.tls);
    finder.trial(settings);
    finder.http(settings);
    finder.paths(settings);
    finder.found
}

struct Finder<'a> {
    effective: &'a [Effective],
    found: Vec<Problem>,
}

impl Finder<'_> {
    fn add(&mut self, setting: &str, message: impl Into<String>) {
        let origin = self
            .effective
            .iter()
            .find(|effective| effective.name == setting)
            .map_or(Origin::Default, |effective| effective.origin.clone());
        self.found.push(Problem {
            code: Code::Conflict,
            setting: setting.to_owned(),
            origin,
            message: message.into(),
        });
    }

    fn tls(&mut self, table: &str, listen: &Addresses, tls: &Tls) {
        if !listen.is_off() {
            for (key, path) in [("certificate", &tls.certificate), ("key", &tls.key)] {
                if path.is_none() {
                    self.add(
                        &format!("{table}.listen"),
                        format!("needs {table}.{key}: name a PEM file, or set it to \"off\""),
                    );
                }
            }
        }
        if tls.client_certificates != ClientCertificates::None && tls.client_ca.is_none() {
            self.add(
                &format!("{table}.client_certificates"),
                format!(
                    "needs {table}.client_ca: the authorities whose certificates are accepted, as a PEM file"
                ),
            );
        }
    }

    /// Trial mode lets anyone do anything, so nobody but this machine may reach it.
    fn trial(&mut self, settings: &Settings) {
        if !settings.server.trial {
            if settings.auth.anonymous == Anonymous::Anyone {
                self.add(
                    "auth.anonymous",
                    "= \"anyone\" checks no credentials at all: turn server.trial on, or choose \"without-credentials\"",
                );
            }
            return;
        }
        let http = Addresses(settings.http.listen.into_iter().collect());
        let listeners = [
            ("http.listen", &http),
            ("mqtt.listen", &settings.mqtt.listen),
            ("mqtts.listen", &settings.mqtts.listen),
            ("ws.listen", &settings.ws.listen),
            ("wss.listen", &settings.wss.listen),
        ];
        for (setting, listen) in listeners {
            if let Some(open) = listen.0.iter().find(|address| !address.ip().is_loopback()) {
                self.add(
                    setting,
                    format!(
                        "= {open} is not loopback, but server.trial is on, which lets anyone do anything: listen on \
                         127.0.0.1, or turn trial off and set up [auth]"
                    ),
                );
            }
        }
    }

    fn http(&mut self, settings: &Settings) {
        if settings.http.certificate.is_some() != settings.http.key.is_some() {
            let (given, missing) =
                if settings.http.key.is_none() { ("certificate", "key") } else { ("key", "certificate") };
            self.add(&format!("http.{given}"), format!("needs http.{missing}: HTTPS takes both"));
        }
        if settings.auth.certificate.enabled
            && [settings.mqtts.tls.client_certificates, settings.wss.tls.client_certificates]
                .iter()
                .all(|asked| *asked == ClientCertificates::None)
        {
            self.add(
                "auth.certificate.enabled",
                "needs a TLS listener that asks for certificates: set mqtts.client_certificates or \
                 wss.client_certificates",
            );
        }
        if let Some(url) = &settings.auth.callback.url
            && !url.starts_with("http://")
            && !url.starts_with("https://")
        {
            self.add("auth.callback.url", format!("= {url:?} must begin with http:// or https://"));
        }
    }

    fn paths(&mut self, settings: &Settings) {
        for (setting, path) in [("ws.path", &settings.ws.path), ("wss.path", &settings.wss.path)] {
            if !path.starts_with('/') {
                self.add(setting, format!("= {path:?} must begin with /"));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use crate::settings::from_toml;

    #[test]
    fn contradictions_are_refused_and_say_what_is_missing() {
        let table = [
            ("[mqtts]\nlisten = \"127.0.0.1:8883\"\nkey = \"k\"\n", "mqtts.listen needs mqtts.certificate"),
            ("[wss]\nclient_certificates = \"required\"\n", "wss.client_certificates needs wss.client_ca"),
            (
                "[server]\ntrial = true\n[mqtt]\nlisten = \"0.0.0.0:1883\"\n",
                "mqtt.listen = 0.0.0.0:1883 is not loopback",
            ),
            ("[http]\ncertificate = \"c\"\n", "http.certificate needs http.key"),
            ("[auth.certificate]\nenabled = true\n", "auth.certificate.enabled needs a TLS listener"),
            (
                "[auth.callback]\nurl = \"ftp://x\"\n",
                "auth.callback.url = \"ftp://x\" must begin with http://",
            ),
            ("[auth]\nanonymous = \"anyone\"\n", "auth.anonymous = \"anyone\" checks no"),
            ("[ws]\npath = \"mqtt\"\n", "ws.path = \"mqtt\" must begin with /"),
        ];
        for (text, expected) in table {
            let told = from_toml(text, Path::new("s.toml")).expect_err("it contradicts itself").to_string();
            assert!(
                told.contains(expected) && told.contains("SET-005") && told.contains("s.toml:"),
                "{told}"
            );
        }
    }
}
