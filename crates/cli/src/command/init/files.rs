//! The files that `stadium init` writes, made whole in memory first.
//!
//! Each is created anew, so that even one that appears meanwhile is not overwritten. The
//! configuration is the last: a folder that has it has everything that it names. A configuration
//! that sets nothing, such as the one of a package, is replaced.

use std::fmt::Write as _;
use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use super::decisions::Decisions;
use super::identity::{self, Authority, Tokens};
use super::{DeviceLogin, TlsSource};
use crate::failure::{Context, Failure};

/// A file that its owner alone may read.
const SECRET: u32 = 0o600;

/// The same in a folder with the setgid bit: its group is that of the service.
const SECRET_OF_GROUP: u32 = 0o640;

/// The setgid bit of a folder: files in it belong to its group.
const SETGID: u32 = 0o2000;

/// A file that everybody may read.
const PUBLIC: u32 = 0o644;

/// All files, in the order in which they are written.
pub(super) struct Files {
    folder: PathBuf,
    files: Vec<(PathBuf, u32, String)>,
    /// The configuration that is there and sets nothing: it is replaced.
    replaced: Option<PathBuf>,
}

impl Files {
    /// Makes their contents; refuses where one is there.
    pub(super) fn of(decisions: &Decisions) -> Result<Self, Failure> {
        let config_file = decisions.config_file();
        let sets_nothing = std::fs::read_to_string(&config_file).is_ok_and(|text| sets_nothing(&text));
        let replaced = sets_nothing.then(|| config_file.clone());
        let mut made = Self { folder: decisions.folder.clone(), files: Vec::new(), replaced };
        // Before anything is computed; `write` looks again.
        made.refuse(&config_file)?;
        if decisions.tls == TlsSource::SelfSigned {
            let authority = Authority::new("Stadium, a self-signed authority")?;
            let server = authority.server(&decisions.names)?;
            made.add("tls/ca.pem", PUBLIC, authority.pem.certificate);
            made.add("tls/ca.key", SECRET, authority.pem.key);
            made.add("tls/server.pem", PUBLIC, server.certificate);
            made.add("tls/server.key", SECRET, server.key);
        }
        let (client_id, file) = (decisions.client_id(), |ending| decisions.device_file(ending));
        match decisions.devices {
            DeviceLogin::Credentials => {}
            DeviceLogin::Passwords => {
                let password = identity::password()?;
                let line = stadium_node::password_line(&client_id, password.as_bytes(), &[]);
                let line = line.context(format_args!("the password of {client_id}"))?;
                made.add("passwords", SECRET, format!("{line}\n"));
                made.files.push((file("password"), SECRET, format!("{password}\n")));
            }
            DeviceLogin::Tokens => {
                let tokens = Tokens::new(&client_id)?;
                made.add("keys/tokens.key", SECRET, tokens.private);
                made.add("keys/tokens.pem", PUBLIC, tokens.public);
                made.files.push((file("token"), SECRET, format!("{}\n", tokens.first)));
            }
            DeviceLogin::Certificates => {
                let authority = Authority::new("Stadium, authority of devices")?;
                let device = authority.device(&client_id)?;
                made.add("tls/devices-ca.pem", PUBLIC, authority.pem.certificate);
                made.add("tls/devices-ca.key", SECRET, authority.pem.key);
                made.files.push((file("pem"), PUBLIC, device.certificate));
                made.files.push((file("key"), SECRET, device.key));
            }
        }
        made.add("apply.toml", PUBLIC, apply(decisions));
        made.files.push((config_file, PUBLIC, config(decisions)));
        for (path, ..) in &made.files {
            made.refuse(path)?;
        }
        let holds_state =
            std::fs::read_dir(&decisions.data).is_ok_and(|mut entries| entries.next().is_some());
        // The server of a package has run before it is configured, and keeps its state.
        let is_its_own = sets_nothing && decisions.is_packaged();
        if (holds_state && !is_its_own) || decisions.data.is_file() {
            return Err(Failure::new(format!(
                "the data directory {} is not empty, and a new server begins with none of another's state: name another \
                 with --data",
                decisions.data.display()
            )));
        }
        Ok(made)
    }

    fn add(&mut self, name: &str, mode: u32, text: String) {
        self.files.push((self.folder.join(name), mode, text));
    }

    fn refuse(&self, path: &Path) -> Result<(), Failure> {
        if path.symlink_metadata().is_ok() && !self.is_replaced(path) {
            return Err(Failure::new(format!(
                "{} is there already, and init overwrites nothing: move it away, or name another folder",
                path.display()
            )));
        }
        Ok(())
    }

    fn is_replaced(&self, path: &Path) -> bool {
        self.replaced.as_deref() == Some(path)
    }

    /// Writes all of them.
    pub(super) fn write(&self) -> Result<(), Failure> {
        let has_group =
            std::fs::metadata(&self.folder).is_ok_and(|folder| folder.permissions().mode() & SETGID != 0);
        let (secret, secrets_folder) = if has_group { (SECRET_OF_GROUP, 0o750) } else { (SECRET, 0o700) };
        for (path, mode, text) in &self.files {
            let folder = path.parent().unwrap_or(&self.folder);
            let folder_mode = if folder == self.folder { 0o755 } else { secrets_folder };
            let made = std::fs::DirBuilder::new().recursive(true).mode(folder_mode).create(folder);
            made.context(format_args!("{} cannot be made", folder.display()))?;
            let mode = if *mode == SECRET { secret } else { *mode };
            let is_replaced = self.is_replaced(path);
            let target = if is_replaced { path.with_extension("toml.new") } else { path.clone() };
            let opened = std::fs::OpenOptions::new().create_new(true).write(true).mode(mode).open(&target);
            let written = opened.and_then(|mut file| {
                file.write_all(text.as_bytes())?;
                file.sync_all()?;
                if is_replaced { std::fs::rename(&target, path) } else { Ok(()) }
            });
            written.context(format_args!("{} cannot be written", path.display()))?;
        }
        Ok(())
    }

    /// Their paths.
    pub(super) fn paths(&self) -> impl Iterator<Item = &Path> {
        self.files.iter().map(|(path, ..)| path.as_path())
    }
}

/// Whether a configuration has comments and empty tables only.
fn sets_nothing(text: &str) -> bool {
    fn is_empty(value: &toml::Value) -> bool {
        value.as_table().is_some_and(|table| table.values().all(is_empty))
    }
    text.parse::<toml::Table>().is_ok_and(|table| table.values().all(is_empty))
}

/// A TOML string.
fn text(path: &Path) -> String {
    toml::Value::String(path.display().to_string()).to_string()
}

/// `stadium.toml`.
fn config(decisions: &Decisions) -> String {
    let mut out = String::from(
        "# Written by `stadium init`. `stadium config reference` describes all settings.\n\n[server]\n",
    );
    let folder = &decisions.folder;
    // Writing to a `String` cannot fail.
    let _ = writeln!(out, "data = {}  # all state, and admin.key", text(&decisions.data));
    let mqtt = decisions.mqtt.map_or_else(|| "off".to_owned(), |address| address.to_string());
    let reason = if decisions.mqtt.is_some() { "plain text: for this machine" } else { "it has no TLS" };
    let _ = writeln!(out, "\n[mqtt]\nlisten = \"{mqtt}\"  # {reason}");
    if let (Some(address), Some((certificate, key))) = (decisions.mqtts, &decisions.identity) {
        let (certificate, key) = (text(certificate), text(key));
        let _ = writeln!(out, "\n[mqtts]\nlisten = \"{address}\"\ncertificate = {certificate}\nkey = {key}");
        device_certificates(decisions, &mut out);
    }
    if let (Some(address), Some(acme)) = (decisions.mqtts, &decisions.acme) {
        let _ = writeln!(out, "\n[mqtts]\nlisten = \"{address}\"  # with the certificate of [acme]");
        device_certificates(decisions, &mut out);
        out.push_str(&acme.table(decisions.http_has_tls()));
    }
    let _ = writeln!(out, "\n[http]\nlisten = \"{}\"  # the API and the console", decisions.http);
    if let (true, Some((certificate, key))) = (decisions.http_has_tls(), &decisions.identity) {
        let _ = writeln!(out, "certificate = {}\nkey = {}", text(certificate), text(key));
    }
    let _ = match decisions.devices {
        DeviceLogin::Credentials => {
            writeln!(
                out,
                "\n[auth]\norder = [\"registry\"]  # `stadium device credential ID` makes a password"
            )
        }
        DeviceLogin::Passwords => {
            let file = text(&folder.join("passwords"));
            writeln!(out, "\n[auth.password]\nfile = {file}  # `stadium device passwd USER` adds a line")
        }
        DeviceLogin::Tokens => {
            let key = format!("eddsa {}", folder.join("keys/tokens.pem").display());
            let key = toml::Value::String(key).to_string();
            writeln!(out, "\n[auth.token]\nkeys = [{key}]  # `sub` of a token is the client id")
        }
        DeviceLogin::Certificates => {
            writeln!(out, "\n[auth.certificate]\nenabled = true  # the common name is the client id")
        }
    };
    out
}

/// The lines of `[mqtts]` where devices show certificates.
fn device_certificates(decisions: &Decisions, out: &mut String) {
    if decisions.devices == DeviceLogin::Certificates {
        let _ = writeln!(out, "client_ca = {}", text(&decisions.folder.join("tls/devices-ca.pem")));
        let _ = writeln!(out, "client_certificates = \"required\"");
    }
}

/// `apply.toml`: the app, and a key for the application's backend.
fn apply(decisions: &Decisions) -> String {
    let app = &decisions.app;
    let table = if app.contains('.') { format!("\"{app}\"") } else { app.clone() };
    format!(
        "# What the server should have. `stadium apply apply.toml` shows the difference, asks, and makes it so.\n\n\
         [apps.{table}]\nregister_at_connect = true\n\n\
         # A key for your backend: it pushes to devices of {app} and registers them.\n\
         [keys.backend]\nroles = [\"sender\"]\napps = [\"{app}\"]\nsecret_file = \"keys/backend.key\"\n"
    )
}
