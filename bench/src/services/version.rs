//! Versions of the peers: those of their Debian packages.

use std::process::Command;

/// The installed packages that match a pattern, with their versions.
pub(crate) fn of(pattern: &str) -> String {
    let query = Command::new("dpkg-query")
        .args(["-W", "-f=${db:Status-Abbrev}${Package} ${Version};", pattern])
        .output();
    let text = query.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    let installed =
        text.split(';').filter_map(|line| line.strip_prefix("ii ")).collect::<Vec<_>>().join(", ");
    if installed.is_empty() { "unknown".to_owned() } else { installed }
}
