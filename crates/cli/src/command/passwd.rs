//! `stadium device passwd USER`: a user's line in the password file.
//!
//! The password is read from the terminal without echo, twice, or from standard input; it is never an argument, which
//! other users of the machine could see. The file is replaced whole, so that a server never reads half of it.

use std::fs::{File, OpenOptions};
use std::io::{self, IsTerminal, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::json;

use crate::failure::{Context, Failure};
use crate::settings_flags::SettingsFlags;
use crate::terminal::{Style, Terminal};

/// Bytes of a password that are read; argon2 takes fewer, and reports it.
const PASSWORD_BYTES_MAX: u64 = 64 * 1024;

/// Whose password, and where it goes.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The user name, `%u` in rules
    user: String,
    /// The password file [default: auth.password.file]
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// A group of the user, as often as needed
    #[arg(long = "group", value_name = "GROUP")]
    groups: Vec<String>,
    /// Print the line instead of writing the file
    #[arg(long, conflicts_with_all = ["file", "delete"])]
    print: bool,
    /// Delete the user from the file
    #[arg(long)]
    delete: bool,
}

/// Sets, prints or deletes the line.
pub(crate) fn run(arguments: Arguments, terminal: &Terminal) -> Result<(), Failure> {
    if arguments.print {
        let line = line(&arguments, terminal)?;
        return if terminal.is_json() {
            terminal.json(&json!({"user": arguments.user, "line": line}))
        } else {
            terminal.data(&line)
        };
    }
    let file = match &arguments.file {
        Some(file) => file.clone(),
        None => SettingsFlags::default().load()?.settings.auth.password.file.ok_or_else(|| {
            Failure::Usage(
                "no password file: name one with --file, or set auth.password.file, or use --print"
                    .to_owned(),
            )
        })?,
    };
    let new = if arguments.delete { None } else { Some(line(&arguments, terminal)?) };
    let replaced = replace(&file, &arguments.user, new.as_deref())?;
    let done = match (&new, replaced) {
        (None, false) => {
            return Err(Failure::new(format!("{} has no user {:?}", file.display(), arguments.user)));
        }
        (None, true) => "deleted",
        (Some(_), true) => "changed",
        (Some(_), false) => "added",
    };
    if terminal.is_json() {
        return terminal.json(&json!({"user": arguments.user, "file": file, "done": done}));
    }
    terminal.data(&format!("{} {done} in {}", terminal.out(Style::Name, &arguments.user), file.display()))
}

fn line(arguments: &Arguments, terminal: &Terminal) -> Result<String, Failure> {
    let password = password(&arguments.user, terminal)?;
    let groups: Vec<&str> = arguments.groups.iter().map(String::as_str).collect();
    stadium_node::password_line(&arguments.user, password.as_bytes(), &groups)
        .context(format_args!("user {:?}", arguments.user))
}

fn password(user: &str, terminal: &Terminal) -> Result<String, Failure> {
    if !io::stdin().is_terminal() {
        let mut text = String::new();
        io::stdin()
            .lock()
            .take(PASSWORD_BYTES_MAX)
            .read_to_string(&mut text)
            .context("the password cannot be read from standard input")?;
        return Ok(text.trim_end_matches(['\r', '\n']).to_owned());
    }
    let ask = |question: &str| {
        terminal.note(question);
        console::Term::stderr().read_secure_line().context("the password cannot be read from the terminal")
    };
    let first = ask(&format!("Password of {user}:"))?;
    if first != ask("Again:")? {
        return Err(Failure::new("the two passwords differ; nothing was changed"));
    }
    Ok(first)
}

/// Puts `new` in the place of the user's line, or at the end; returns whether there was one.
fn replace(file: &Path, user: &str, new: Option<&str>) -> Result<bool, Failure> {
    let shown = file.display();
    let text = match std::fs::read_to_string(file) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(Failure::new(format!("{shown} cannot be read: {error}"))),
    };
    let mut found = false;
    let mut lines: Vec<&str> = Vec::new();
    for line in text.lines() {
        if line.split_once(':').is_some_and(|(name, _)| name.trim() == user) {
            if let (false, Some(new)) = (found, new) {
                lines.push(new);
            }
            found = true;
        } else {
            lines.push(line);
        }
    }
    if let (false, Some(new)) = (found, new) {
        lines.push(new);
    }
    if found || new.is_some() {
        let mut whole = lines.join("\n");
        if !whole.is_empty() {
            whole.push('\n');
        }
        write_whole(file, &whole).context(format_args!("{shown} cannot be written"))?;
    }
    Ok(found)
}

fn write_whole(file: &Path, text: &str) -> io::Result<()> {
    let mut name = file.file_name().unwrap_or_default().to_owned();
    name.push(".new");
    let beside = file.with_file_name(name);
    let mut out: File =
        OpenOptions::new().create(true).truncate(true).write(true).mode(0o600).open(&beside)?;
    out.write_all(text.as_bytes())?;
    out.sync_all()?;
    std::fs::rename(beside, file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_users_line_is_added_changed_and_deleted_and_others_stay() {
        let directory = tempfile::tempdir().expect("a temporary directory can be made");
        let file = directory.path().join("passwords");
        let text = || std::fs::read_to_string(&file).expect("it was written");
        assert!(!replace(&file, "ann", Some("ann:1")).expect("it is writable"));
        assert!(!replace(&file, "bob", Some("bob:1")).expect("it is writable"));
        assert!(replace(&file, "ann", Some("ann:2")).expect("it is writable"));
        assert_eq!(text(), "ann:2\nbob:1\n");
        assert!(replace(&file, "ann", None).expect("it is writable"));
        assert!(!replace(&file, "ann", None).expect("nothing to do"));
        assert_eq!(text(), "bob:1\n");
    }
}
