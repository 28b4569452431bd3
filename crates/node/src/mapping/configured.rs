//! The files that the configuration names, for backups: nothing else has them when the machine is lost.
//!
//! Private keys and secrets are marked; a backup seals them or leaves them out. Passwords of devices
//! are hashes, as API keys are. The secret of backups itself is in no backup. Settings of clusters
//! are left out: a node of a cluster makes no backups of its own.

use std::path::PathBuf;

use stadium_archive::{Configured, Content};
use toml::{Table, Value};

use crate::settings::{Loaded, Origin, Settings, TokenAlgorithm, TokenKeys};

/// The name of the configuration itself.
const CONFIGURATION: &str = "stadium.toml";

/// The configuration and the files that it names.
#[must_use]
pub fn whole(loaded: &Loaded) -> Vec<Configured> {
    let mut all = files(&loaded.settings);
    all.push(text(loaded));
    all
}

/// The files that settings of a standalone server name.
pub(crate) fn files(settings: &Settings) -> Vec<Configured> {
    let (auth, http, rpc, access) =
        (&settings.auth, &settings.http, &settings.rpc, &settings.discovery.access);
    let mut found = Vec::new();
    let mut add = |setting: String, file: Option<&PathBuf>, is_secret| {
        let content = file.map(|file| Content::File(file.clone()));
        found.extend(content.map(|content| Configured { setting, content, is_secret }));
    };
    for (setting, file, is_secret) in [
        ("auth.rules_file", &auth.rules_file, false),
        ("auth.password.file", &auth.password.file, false),
        ("auth.callback.authorities", &auth.callback.authorities, false),
        ("cache.secret_file", &settings.cache.secret_file, true),
        ("cache.password_file", &settings.cache.access.password_file, true),
        ("cache.ca", &settings.cache.access.ca, false),
        ("cache.certificate", &settings.cache.access.certificate, false),
        ("cache.key", &settings.cache.access.key, true),
        ("http.certificate", &http.certificate, false),
        ("http.key", &http.key, true),
        ("http.client_ca", &http.client_ca, false),
        ("http.client_crl", &http.client_crl, false),
        ("acme.ca", &settings.acme.ca, false),
        ("telemetry.headers_file", &settings.telemetry.headers_file, true),
        ("telemetry.authorities", &settings.telemetry.authorities, false),
        ("http.oidc.client_secret_file", &http.oidc.client_secret_file, true),
        ("http.oidc.ca", &http.oidc.ca, false),
        ("rpc.calls_ca", &rpc.calls_ca, false),
        ("discovery.password_file", &access.password_file, true),
        ("discovery.ca", &access.ca, false),
        ("discovery.certificate", &access.certificate, false),
        ("discovery.key", &access.key, true),
    ] {
        add(setting.to_owned(), file.as_ref(), is_secret);
    }
    for (table, tls) in
        [("mqtts", &settings.mqtts.tls), ("wss", &settings.wss.tls), ("rpc", &settings.rpc.tls)]
    {
        for (key, file, is_secret) in [
            ("certificate", &tls.certificate, false),
            ("key", &tls.key, true),
            ("client_ca", &tls.client_ca, false),
            ("client_crl", &tls.client_crl, false),
        ] {
            add(format!("{table}.{key}"), file.as_ref(), is_secret);
        }
    }
    for (table, keys) in [("auth.token", &auth.token.sources), ("rpc.tokens", &rpc.tokens.sources)] {
        let TokenKeys { keys, key_sets, key_set_ca, .. } = keys;
        for (place, key) in keys.iter().enumerate() {
            // The other algorithms have public keys.
            let is_secret = key.algorithm == TokenAlgorithm::Hs256;
            add(format!("{table}.keys.{place}"), Some(&key.file), is_secret);
        }
        for (place, set) in key_sets.iter().enumerate() {
            add(format!("{table}.key_sets.{place}"), Some(set), false);
        }
        add(format!("{table}.key_set_ca"), key_set_ca.as_ref(), false);
    }
    found
}

/// The settings that differ from their defaults, wherever they came from, as a file.
pub(crate) fn text(loaded: &Loaded) -> Configured {
    let mut root = Table::new();
    for effective in loaded.effective.iter().filter(|effective| effective.origin != Origin::Default) {
        put(&mut root, &effective.name, effective.value.clone());
    }
    Configured {
        setting: CONFIGURATION.to_owned(),
        content: Content::Text(root.to_string()),
        is_secret: false,
    }
}

/// Puts a value where its dotted name says.
fn put(table: &mut Table, name: &str, value: Value) {
    match name.split_once('.') {
        None => drop(table.insert(name.to_owned(), value)),
        Some((first, rest)) => {
            let inner = table.entry(first).or_insert_with(|| Value::Table(Table::new()));
            if let Value::Table(inner) = inner {
                put(inner, rest, value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::settings::{from_toml, tables};

    #[test]
    fn the_text_is_a_configuration_that_gives_the_same_settings() {
        let given = "[limits]\nconnections_max = 7\n[auth.token]\nleeway_s = 3\n\
                     [auth]\nrules_file = \"rules.toml\"\n";
        let loaded = from_toml(given, Path::new("stadium.toml")).expect("these are settings");
        let Content::Text(text) = text(&loaded).content else { panic!("it is a text") };
        let again = from_toml(&text, Path::new("again.toml")).expect("it is a configuration");
        let values = |loaded: &Loaded| -> Vec<String> {
            loaded.effective.iter().map(|one| format!("{} {}", one.name, one.value)).collect()
        };
        assert_eq!(values(&again), values(&loaded));
    }

    #[test]
    fn every_setting_that_names_a_file_is_known_here_or_named_as_an_exception() {
        // Directories, lists, settings of clusters, and the secret that seals the others.
        let is_exception = |name: &str| {
            name == "server.data" || name.starts_with("cluster.") || name == "backup.secrets_key_file"
        };
        let (mut text, mut wanted) = (String::new(), Vec::new());
        for table in tables() {
            for setting in table.settings.iter().filter(|one| one.kind == "path") {
                if is_exception(&setting.name) {
                    continue;
                }
                wanted.push(setting.name.clone());
                text.push_str(&format!("{} = \"/some/file\"\n", setting.name));
            }
        }
        // Conflicts between them are of no interest, so they are read one at a time.
        for (line, name) in text.lines().zip(&wanted) {
            let settings = crate::settings::without_conflicts(line);
            let found = files(&settings);
            assert!(found.iter().any(|one| one.setting == *name), "{name} is in no backup");
        }
        assert!(wanted.len() > 20, "{wanted:?}");
    }
}
