//! The facts of this process, as the console shows them: listeners, and each setting in force.
//!
//! Settings hold no secrets but for the passwords that a URL may carry; those are left out here.

use std::collections::HashMap;

use stadium_http::{Facts, ListenerFact, SettingFact};

use crate::running::{Listener, Running};
use crate::settings::{Effective, Loaded, Origin, tables};

/// The facts of a process that runs with this configuration.
pub(crate) fn facts(loaded: &Loaded, running: &Running) -> Facts {
    let described = tables().into_iter().flat_map(|table| table.settings);
    let known: HashMap<_, _> = described.map(|setting| (setting.name.clone(), setting)).collect();
    let setting = |effective: &Effective| {
        let known = known.get(&effective.name);
        SettingFact {
            name: effective.name.clone(),
            value: without_passwords(&effective.value.to_string()),
            default: known.map(|setting| setting.default.to_string()).unwrap_or_default(),
            from: effective.origin.to_string(),
            is_set: effective.origin != Origin::Default,
            unit: known.map(|setting| setting.unit.to_owned()).unwrap_or_default(),
            help: known.map(|setting| setting.help.clone()).unwrap_or_default(),
        }
    };
    let listener =
        |listener: &Listener| ListenerFact { name: listener.name.clone(), address: listener.address };
    Facts {
        listeners: running.listeners.iter().map(listener).collect(),
        file: loaded.file.as_ref().map(|path| path.display().to_string()),
        settings: loaded.effective.iter().map(setting).collect(),
    }
}

/// The text with `***` for what stands before the `@` of each URL in it.
fn without_passwords(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("://") {
        let (before, after) = rest.split_at(at + 3);
        shown.push_str(before);
        let end = after.find(['/', '"', '?', '#']).unwrap_or(after.len());
        let (authority, behind) = after.split_at(end);
        match authority.rsplit_once('@') {
            Some((_, host)) => shown.extend(["***@", host]),
            None => shown.push_str(authority),
        }
        rest = behind;
    }
    shown + rest
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::settings::from_toml;

    #[test]
    fn each_setting_is_shown_with_its_origin_and_no_password() {
        let text = "[auth.callback]\nurl = \"https://user:s3cret@auth.example.org/login?next=/a@b\"\n";
        let facts = facts(&from_toml(text, Path::new("s.toml")).expect("it is right"), &Running::default());
        let of =
            |name: &str| facts.settings.iter().find(|setting| setting.name == name).expect("it is known");
        let url = of("auth.callback.url");
        assert_eq!(url.value, "\"https://***@auth.example.org/login?next=/a@b\"");
        assert!(url.is_set && url.from.contains("s.toml"), "{url:?}");
        let connections = of("limits.connections_max");
        assert!(
            !connections.is_set && connections.value == connections.default && !connections.help.is_empty()
        );
    }

    #[test]
    fn passwords_of_urls_in_lists_are_left_out() {
        assert_eq!(
            without_passwords(r#"["http://a:b@etcd-1:2379", "http://etcd-2:2379"]"#),
            r#"["http://***@etcd-1:2379", "http://etcd-2:2379"]"#
        );
        assert_eq!(without_passwords("\"no url@all\""), "\"no url@all\"");
    }
}
