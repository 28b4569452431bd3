//! Reads the file of `stadium apply`: TOML, the names of its fields checked, secrets that it names
//! by file filled in.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::schema;
use crate::failure::{Context, Failure};

/// Bytes of a file that are read; ten thousand queues with all their settings take less.
const FILE_BYTES_MAX: u64 = 8 << 20;

/// Bytes of a webhook's secret.
const SECRET_BYTES_MAX: u64 = 4 * 1024;

/// The declarations of a file.
#[derive(Debug)]
pub(super) struct Declared {
    tables: Value,
    /// The folder that relative paths are relative to.
    pub(super) folder: PathBuf,
}

impl Declared {
    /// The entries of a table by name; none where the file does not have the table.
    pub(super) fn table(&self, name: &str) -> Option<&Map<String, Value>> {
        self.tables.get(name).and_then(Value::as_object)
    }

    /// A list of the file; none where the file does not have it.
    pub(super) fn list(&self, name: &str) -> Option<&[Value]> {
        self.tables.get(name).and_then(Value::as_array).map(Vec::as_slice)
    }

    /// A path of the file.
    pub(super) fn path(&self, given: &str) -> PathBuf {
        self.folder.join(given)
    }
}

/// Reads and checks it.
pub(super) fn read(path: &Path) -> Result<Declared, Failure> {
    let is_stdin = path.as_os_str() == "-";
    let shown = if is_stdin { "standard input".to_owned() } else { path.display().to_string() };
    let mut text = String::new();
    let read = if is_stdin {
        std::io::stdin().lock().take(FILE_BYTES_MAX + 1).read_to_string(&mut text)
    } else {
        std::fs::File::open(path).and_then(|file| file.take(FILE_BYTES_MAX + 1).read_to_string(&mut text))
    };
    read.context(format_args!("{shown} cannot be read"))?;
    if text.len() as u64 > FILE_BYTES_MAX {
        return Err(Failure::Input(format!("{shown} has more than {FILE_BYTES_MAX} bytes")));
    }
    let folder = if is_stdin { Path::new("") } else { path.parent().unwrap_or(Path::new("")) };
    parse(&text, &shown, folder)
}

fn parse(text: &str, shown: &str, folder: &Path) -> Result<Declared, Failure> {
    let tables: toml::Table = toml::from_str(text)
        .map_err(|error| Failure::Input(format!("{shown}: {}", error.to_string().trim_end())))?;
    let tables = serde_json::to_value(tables).context(shown)?;
    let schema = schema::schema();
    let mut mistakes = Vec::new();
    schema::mistakes(&tables, &schema, &schema, "", &mut mistakes);
    if !mistakes.is_empty() {
        let lines: Vec<String> = mistakes.iter().map(|mistake| format!("{shown}: {mistake}")).collect();
        return Err(Failure::Problems(format!("error: {}", lines.join("\nerror: "))));
    }
    let mut declared = Declared { tables, folder: folder.to_owned() };
    declared.fill_in_secrets(shown)?;
    Ok(declared)
}

impl Declared {
    /// Puts the secrets of webhooks, which stand in files, into their places.
    fn fill_in_secrets(&mut self, shown: &str) -> Result<(), Failure> {
        let folder = self.folder.clone();
        let apps = self.tables.get_mut("apps").and_then(Value::as_object_mut).into_iter().flatten();
        for (name, app) in apps {
            let feeds = app.get_mut("feeds").and_then(Value::as_array_mut).into_iter().flatten();
            for webhook in feeds.filter_map(|feed| feed.get_mut("webhook")).filter_map(Value::as_object_mut) {
                let Some(file) = webhook.remove("secret_file") else { continue };
                if webhook.contains_key("secret") {
                    let why = "a webhook has `secret` or `secret_file`, not both";
                    return Err(Failure::Input(format!("{shown}: apps.{name}.feeds: {why}")));
                }
                let file = folder.join(file.as_str().unwrap_or_default());
                let mut secret = String::new();
                let read = std::fs::File::open(&file)
                    .and_then(|file| file.take(SECRET_BYTES_MAX).read_to_string(&mut secret));
                read.context(format_args!("the secret file {} cannot be read", file.display()))?;
                webhook.insert("secret".to_owned(), secret.trim().into());
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_in_a_file_takes_its_place() {
        let folder = tempfile::tempdir().expect("a temporary directory can be made");
        std::fs::write(folder.path().join("crm"), "whsec_abc\n").expect("it is writable");
        let text = "[apps.shop]\nfeeds = [{name = \"crm\", kinds = [\"opened\"], webhook = {url = \"https://c\", secret_file = \"crm\"}}]";
        let declared = parse(text, "f", folder.path()).expect("it is right");
        let shop = &declared.table("apps").expect("it has apps")["shop"];
        assert_eq!(shop.pointer("/feeds/0/webhook/secret"), Some(&"whsec_abc".into()));
        assert_eq!(shop.pointer("/feeds/0/webhook/secret_file"), None);
    }

    #[test]
    fn mistakes_name_the_file_and_the_place() {
        for (text, why) in [
            ("[queues.mail]\nattempts = 3", "f: queues.mail.attempts: there is no such field"),
            ("[queues\n", "f: TOML parse error at line 1"),
            ("queues = 3", "f: queues: it is a table"),
        ] {
            let failure = parse(text, "f", Path::new("")).expect_err(text);
            assert!(failure.to_string().contains(why), "{failure}");
        }
    }
}
