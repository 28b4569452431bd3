//! Secrets of the settings: read from their files when they are needed.
//!
//! Settings hold paths alone, so no report about them can show a secret.

use std::path::Path;

use crate::settings::Access;

/// The user of a store and the password, where the settings of `table` name one.
///
/// # Errors
/// The file cannot be read, in words.
pub(crate) fn user(table: &str, access: &Access) -> Result<Option<(String, String)>, String> {
    let (Some(user), Some(path)) = (&access.user, &access.password_file) else { return Ok(None) };
    Ok(Some((user.clone(), password(table, path)?)))
}

fn password(table: &str, path: &Path) -> Result<String, String> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| format!("{table}.password_file {} cannot be read: {error}", path.display()))?;
    Ok(text.trim_end_matches(['\r', '\n']).to_owned())
}
