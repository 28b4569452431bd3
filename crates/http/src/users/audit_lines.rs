//! The lines of the audit log that are about a user: those of the user as a person, and those whose path
//! names one of the user's devices or wallets.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;

use stadium_registry::AppName;

use crate::audit_log::Entry;
use crate::audit_log::verify::each_line;

/// The lines of the audit log that a client asked for, or that are about one. Waits for the disk.
pub(crate) fn audit_lines(data_dir: &Path, clients: &BTreeSet<String>) -> io::Result<Vec<Entry>> {
    let mut found = Vec::new();
    let read = each_line(data_dir, |_, _, line| {
        found.extend(serde_json::from_str::<Entry>(line).ok().filter(|entry| is_about(entry, clients)));
        Ok(())
    });
    match read {
        Ok(_) => Ok(found),
        Err(broken) => Err(io::Error::other(broken.to_string())),
    }
}

fn is_about(entry: &Entry, clients: &BTreeSet<String>) -> bool {
    if clients.contains(&entry.key)
        || entry.key.strip_prefix("oidc:").is_some_and(|key| clients.contains(key))
    {
        return true;
    }
    let texts = [&entry.path, &entry.made].into_iter().flatten();
    texts.flat_map(|text| words(text)).any(|word| clients.contains(&word))
}

/// The parts of a path and its query, each decoded, alone and with the part before it as `APP/DEVICE`.
fn words(path: &str) -> Vec<String> {
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    let parts: Vec<String> = path.split('/').map(decoded).collect();
    let of_app = |parts: &[String]| {
        (parts[0] == "apps" && parts[2] == "devices").then(|| {
            // The bare id is a client id in the app `default` alone.
            match parts[1] == AppName::DEFAULT {
                true => parts[3].clone(),
                false => format!("{}/{}", parts[1], parts[3]),
            }
        })
    };
    let mut words: Vec<String> = parts.windows(4).filter_map(of_app).collect();
    let is_of_device = !words.is_empty();
    words.extend(parts.into_iter().filter(|_| !is_of_device));
    words.extend(query.split('&').filter_map(|pair| pair.split_once('=')).map(|(_, value)| decoded(value)));
    words
}

fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, behind)) = rest.split_first() {
        let digits = behind.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        match digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()).filter(|_| first == b'%') {
            Some(byte) => {
                bytes.push(byte);
                rest = &behind[2..];
            }
            None => {
                bytes.push(first);
                rest = behind;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_about_a_device_of_its_app_or_about_its_parts() {
        let clients = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<_>>();
        let about = |path: &str, names: &[&str]| words(path).iter().any(|word| clients(names).contains(word));
        assert!(about("/api/apps/shop/devices/phone%2D7/revoke", &["shop/phone-7"]));
        assert!(!about("/api/apps/shop/devices/phone-7", &["phone-7"]), "of another app");
        assert!(about("/api/apps/default/devices/phone-7", &["phone-7"]));
        assert!(about("/api/wallets/ada/EUR", &["ada"]));
        assert!(about("/api/apps/shop/devices?named_user=ada", &["ada"]));
        assert!(!about("/api/wallets/adam", &["ada"]));
    }
}
