//! The configuration and what it names: the findings of `stadium config check`, the owners of taken
//! ports, and secrets that others can read.

use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use stadium_node::check::{self, Finding, Scope, Severity};
use stadium_node::settings::{Code, Loaded};

use super::{Checks, ports};

const AREA: &str = "config";

/// Settings whose files are secrets, by the last part of their names.
const SECRET_SETTINGS: [&str; 4] = ["key", "password_file", "secret_file", "client_secret_file"];

/// Secrets in the data directory.
const SECRETS_OF_DATA: [&str; 2] = ["admin.key", "api-keys.toml"];

/// Examines it.
pub(super) fn examine(loaded: &Loaded, checks: &mut Checks) {
    let findings = check::check(loaded, Scope::Machine);
    for finding in &findings {
        add(finding, checks);
    }
    let is_bad = |finding: &&Finding| finding.severity > Severity::Note;
    if findings.iter().filter(is_bad).count() == 0 {
        let file =
            loaded.file.as_ref().map_or_else(|| "no file".to_owned(), |file| file.display().to_string());
        checks.ok(
            AREA,
            format!("{file}: certificates, keys, ports and folders that it names are as they should be"),
        );
    }
    secrets(loaded, checks);
}

fn add(finding: &Finding, checks: &mut Checks) {
    // The open-file limit is the machine's; a server that runs is looked at for itself.
    if matches!(finding.code, Code::Limit) || finding.severity == Severity::Note {
        return;
    }
    let file = finding.file.as_ref().map(|file| format!("{}: ", file.display())).unwrap_or_default();
    let mut found = format!("{}: {file}{}", finding.setting, finding.message);
    let mut remedy = finding.remedy.clone();
    let address = finding.message.split(' ').next().and_then(|word| word.parse::<SocketAddr>().ok());
    if let (Code::Address, Some(address)) = (finding.code, address)
        && let Some(owner) = ports::owner(address.port())
        && finding.message.contains("another process")
    {
        found = format!("{found}: {owner}");
        remedy = "stop that process, or choose another port".to_owned();
    }
    let area = if finding.code == Code::Address { "ports" } else { AREA };
    match finding.severity {
        Severity::Error => checks.problem(area, found, remedy),
        _ => checks.warning(area, found, remedy),
    }
}

/// Every secret file: nobody but its owner, or a group made for it, reads it.
fn secrets(loaded: &Loaded, checks: &mut Checks) {
    let data = &loaded.settings.server.data;
    let mut files: Vec<PathBuf> = SECRETS_OF_DATA.iter().map(|name| data.join(name)).collect();
    for effective in &loaded.effective {
        let last = effective.name.rsplit('.').next().unwrap_or_default();
        let is_secret = SECRET_SETTINGS.contains(&last) || effective.name == "auth.password.file";
        match &effective.value {
            toml::Value::String(path) if is_secret && !path.is_empty() => files.push(PathBuf::from(path)),
            // Keys of tokens: those of HS256 are secrets.
            toml::Value::Array(keys) if last == "keys" => {
                let words = keys.iter().filter_map(toml::Value::as_str).map(str::split_whitespace);
                let secret = words.filter(|words| words.clone().next() == Some("hs256"));
                files.extend(secret.filter_map(Iterator::last).map(PathBuf::from));
            }
            _ => {}
        }
    }
    files.sort();
    files.dedup();
    let there: Vec<(&Path, u32)> = files
        .iter()
        .filter_map(|file| Some((file.as_path(), std::fs::metadata(file).ok()?.permissions().mode())))
        .collect();
    let mut open = 0;
    for (file, mode) in &there {
        if mode & 0o007 != 0 {
            open += 1;
            let found = format!(
                "{} is a secret that every user can use (mode {:04o})",
                file.display(),
                mode & 0o7777
            );
            checks.problem("secrets", found, format!("chmod 600 {}", file.display()));
        }
    }
    if open == 0 && !there.is_empty() {
        checks.ok("secrets", format!("{} secret files, none of them open to every user", there.len()));
    }
}
