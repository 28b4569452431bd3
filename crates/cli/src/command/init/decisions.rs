//! The decisions of `stadium init`: from flags, from answers on a terminal, from defaults.
//!
//! All are made and checked before anything is written. Paths are absolute, so that the server may
//! be started from anywhere.

use std::io::{self, IsTerminal, Write};
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};

use clap::ValueEnum;

use super::acme::Acme;
use super::{Arguments, DeviceLogin, TlsSource};
use crate::failure::{Context, Failure};
use crate::packaged;
use crate::terminal::Terminal;

/// The app that is always there.
const DEFAULT_APP: &str = "default";

/// The longest id of a device; the server's own bound.
const DEVICE_BYTES_MAX: usize = 128;

/// Everything that was decided.
#[derive(Debug)]
pub(super) struct Decisions {
    pub(super) folder: PathBuf,
    pub(super) data: PathBuf,
    pub(super) devices: DeviceLogin,
    pub(super) tls: TlsSource,
    /// Certificate and key of the server; none without TLS.
    pub(super) identity: Option<(PathBuf, PathBuf)>,
    pub(super) names: Vec<String>,
    /// Where the certificate comes from, with --tls acme.
    pub(super) acme: Option<Acme>,
    pub(super) app: String,
    pub(super) device: String,
    pub(super) mqtts: Option<SocketAddr>,
    pub(super) mqtt: Option<SocketAddr>,
    pub(super) http: SocketAddr,
}

impl Decisions {
    /// Makes all of them.
    pub(super) fn make(arguments: Arguments, terminal: &Terminal) -> Result<Self, Failure> {
        let asks = !arguments.yes && io::stdin().is_terminal() && terminal.is_watched();
        let asker = Asker { asks };
        let devices = asker.choice("How do devices log in?", arguments.devices, DeviceLogin::Credentials)?;
        let given = arguments.certificate.zip(arguments.certificate_key);
        let usual = match (given.is_some(), arguments.acme.has_domain()) {
            (true, _) => TlsSource::Files,
            (false, true) => TlsSource::Acme,
            (false, false) => TlsSource::SelfSigned,
        };
        let tls = if usual != TlsSource::SelfSigned && arguments.tls.is_none() {
            usual
        } else {
            asker.choice("Which certificate does the server show?", arguments.tls, usual)?
        };
        let folder = absolute(&arguments.folder)?;
        let acme = Acme::decide(arguments.acme, tls, &arguments.names, |question| asker.text(question, ""))?;
        let identity = match (tls, given) {
            (TlsSource::Off, Some(_)) => {
                return Err(Failure::Usage("--certificate is for a server with TLS, not --tls off".into()));
            }
            (TlsSource::SelfSigned, Some(_)) => {
                return Err(Failure::Usage("--certificate is --tls files, not --tls self-signed".into()));
            }
            (TlsSource::Files, Some((certificate, key))) => {
                let (certificate, key) = (absolute(&certificate)?, absolute(&key)?);
                for file in [&certificate, &key] {
                    std::fs::File::open(file).context(file.display())?;
                }
                Some((certificate, key))
            }
            (TlsSource::Files, None) => {
                return Err(Failure::Usage("--tls files needs --certificate and --certificate-key".into()));
            }
            (TlsSource::SelfSigned, None) => {
                Some((folder.join("tls/server.pem"), folder.join("tls/server.key")))
            }
            (TlsSource::Acme, Some(_)) => {
                return Err(Failure::Usage("--certificate is --tls files, not --tls acme".into()));
            }
            (TlsSource::Off | TlsSource::Acme, None) => None,
        };
        if tls == TlsSource::Off && devices == DeviceLogin::Certificates {
            return Err(Failure::Usage("devices show certificates over TLS only: not with --tls off".into()));
        }
        let mut names = arguments.names;
        if let Some(acme) = &acme {
            names.clone_from(&acme.domains);
        }
        if names.is_empty() && tls == TlsSource::SelfSigned {
            let usual = usual_names().join(", ");
            let answer = asker.text("Which names and addresses has this server?", &usual)?;
            names = answer.split([',', ' ']).filter(|name| !name.is_empty()).map(str::to_owned).collect();
        }
        let app = match arguments.app {
            Some(app) => app,
            None => asker.text("What is the first app?", DEFAULT_APP)?,
        };
        check_app(&app)?;
        check_device(&arguments.device)?;
        let (mqtts, mqtt) = match tls {
            TlsSource::Off => (None, arguments.mqtt.or(Some(SocketAddr::from(([127, 0, 0, 1], 1883))))),
            _ => (Some(arguments.mqtts), arguments.mqtt),
        };
        if tls == TlsSource::Off && !arguments.http.ip().is_loopback() {
            return Err(Failure::Usage(
                "--tls off keeps --http on this machine: keys would cross the network as plain text".into(),
            ));
        }
        if devices == DeviceLogin::Tokens && folder.to_string_lossy().contains(char::is_whitespace) {
            return Err(Failure::Usage(format!(
                "auth.token.keys takes no path with blanks: name another folder than {}",
                folder.display()
            )));
        }
        let usual = if folder == Path::new(packaged::FOLDER) {
            PathBuf::from(packaged::DATA)
        } else {
            folder.join("stadium-data")
        };
        let data = arguments.data.unwrap_or(usual);
        Ok(Self {
            data: absolute(&data)?,
            folder,
            devices,
            tls,
            identity,
            names,
            acme,
            app,
            device: arguments.device,
            mqtts,
            mqtt,
            http: arguments.http,
        })
    }

    /// The configuration file.
    pub(super) fn config_file(&self) -> PathBuf {
        self.folder.join("stadium.toml")
    }

    /// Whether these are the files of the server that a package installed.
    pub(super) fn is_packaged(&self) -> bool {
        self.folder == Path::new(packaged::FOLDER) && self.data == Path::new(packaged::DATA)
    }

    /// The client id of the first device.
    pub(super) fn client_id(&self) -> String {
        if self.app == DEFAULT_APP { self.device.clone() } else { format!("{}/{}", self.app, self.device) }
    }

    /// Whether HTTP has TLS: everywhere but on this machine.
    pub(super) fn http_has_tls(&self) -> bool {
        !self.http.ip().is_loopback()
    }

    /// A file for the first device.
    pub(super) fn device_file(&self, ending: &str) -> PathBuf {
        self.folder.join(format!("devices/{}.{ending}", self.client_id().replace('/', "-")))
    }

    /// The decisions, by subject.
    pub(super) fn decided(&self) -> Vec<(&'static str, String)> {
        let devices = match self.devices {
            DeviceLogin::Credentials => {
                "log in with a secret that the server makes for each of them".to_owned()
            }
            DeviceLogin::Passwords => {
                format!("log in with user name and password; that of {} is in its file", self.client_id())
            }
            DeviceLogin::Tokens => "log in with a token (JWT, EdDSA) that keys/tokens.key signed".to_owned(),
            DeviceLogin::Certificates => {
                "log in with a certificate that tls/devices-ca.key signed, their name in it".to_owned()
            }
        };
        let tls = match self.tls {
            TlsSource::SelfSigned => {
                format!("a certificate for {}; devices trust tls/ca.pem", self.names.join(", "))
            }
            TlsSource::Files => "your certificate".to_owned(),
            TlsSource::Acme => self.acme.as_ref().map(Acme::decided).unwrap_or_default(),
            TlsSource::Off => "none; MQTT on this machine only".to_owned(),
        };
        let mqtt = self.mqtt.map(|address| format!("mqtt://{address}"));
        let mqtts = self.mqtts.map(|address| format!("mqtts://{address}"));
        let listens: Vec<String> = mqtts.into_iter().chain(mqtt).collect();
        let scheme = if self.http_has_tls() { "https" } else { "http" };
        vec![
            ("devices", devices),
            ("TLS", tls),
            ("MQTT", listens.join(" and ")),
            ("API", format!("{scheme}://{}", self.http)),
            ("app", format!("{}; apply.toml gives it a key for your backend, keys/backend.key", self.app)),
            ("state", self.data.display().to_string()),
        ]
    }

    /// The next commands.
    pub(super) fn next(&self) -> Vec<String> {
        let here = std::env::current_dir().ok().as_deref() == Some(&self.folder);
        let shown = |name: &str| if here { name.to_owned() } else { quoted(&self.folder.join(name)) };
        let start = match (self.is_packaged(), here) {
            (true, _) => "systemctl restart stadium".to_owned(),
            (false, true) => "stadium serve".to_owned(),
            (false, false) => format!("stadium serve --config {}", shown("stadium.toml")),
        };
        // Commands find the server of this folder, and that of the package, by themselves.
        let is_found = here || self.is_packaged();
        let server = if is_found { String::new() } else { format!(" --data {}", quoted(&self.data)) };
        let app = if self.app == DEFAULT_APP { String::new() } else { format!(" --app {}", self.app) };
        let mut next = vec![start, format!("stadium apply {}{server}", shown("apply.toml"))];
        if self.devices == DeviceLogin::Credentials {
            let (device, secret) = (&self.device, self.secret_file());
            next.push(format!("stadium device credential {device} --register{app}{server} > {secret}"));
        }
        next.push(self.device_command(&shown));
        next.push(format!("stadium push send device:{} --title Hello{app}{server}", self.device));
        next
    }

    /// The file that the credential of the first device goes to, in the working directory.
    fn secret_file(&self) -> String {
        format!("{}.secret", self.device)
    }
}

impl Decisions {
    /// The first device, as mosquitto_sub; `shown` gives a file of the folder as it is named from here.
    fn device_command(&self, shown: &dyn Fn(&str) -> String) -> String {
        let id = self.client_id();
        let file = |ending: &str| {
            let path = self.device_file(ending);
            let name = path.strip_prefix(&self.folder).unwrap_or(&path).display().to_string();
            shown(&name)
        };
        let host = self.names.iter().find(|name| *name == "localhost").or(self.names.first());
        let trust = match self.tls {
            TlsSource::SelfSigned => format!("--cafile {} ", shown("tls/ca.pem")),
            TlsSource::Files | TlsSource::Acme => "--tls-use-os-certs ".to_owned(),
            TlsSource::Off => String::new(),
        };
        let host = match self.tls {
            TlsSource::Off => "localhost",
            _ => host.map_or("HOST", String::as_str),
        };
        let port = self.mqtts.or(self.mqtt).map_or(0, |address| address.port());
        let proof = match self.devices {
            // The user name may be any.
            DeviceLogin::Credentials => format!("-u {id} -P \"$(cat {})\"", self.secret_file()),
            DeviceLogin::Passwords => format!("-u {id} -P \"$(cat {})\"", file("password")),
            DeviceLogin::Tokens => format!("-u {id} -P \"$(cat {})\"", file("token")),
            DeviceLogin::Certificates => format!("--cert {} --key {}", file("pem"), file("key")),
        };
        format!("mosquitto_sub {trust}-h {host} -p {port} -V 5 -i {id} {proof} -q 1 -t inbox/{id}")
    }
}

fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    let is_plain = text.chars().all(|c| c.is_ascii_alphanumeric() || "/._-+:@".contains(c));
    if is_plain { text } else { format!("'{}'", text.replace('\'', r"'\''")) }
}

fn absolute(path: &Path) -> Result<PathBuf, Failure> {
    let path = std::path::absolute(path).context(path.display())?;
    // `.` at its end is `DIR` left out.
    Ok(path.components().collect())
}

/// The name of this machine, and its loopback.
fn usual_names() -> Vec<String> {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let host = host.trim();
    let is_name =
        !host.is_empty() && host.parse::<IpAddr>().is_err() && host != "localhost" && host != "(none)";
    let host = is_name.then(|| host.to_owned());
    host.into_iter().chain(["localhost".to_owned(), "127.0.0.1".to_owned()]).collect()
}

fn check_app(app: &str) -> Result<(), Failure> {
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "._-".contains(c);
    if (1..=64).contains(&app.len()) && app.chars().all(fits) {
        return Ok(());
    }
    Err(Failure::Usage(format!("the app {app:?}: 1 to 64 small letters, digits, `.`, `_` and `-`")))
}

fn check_device(device: &str) -> Result<(), Failure> {
    let fits = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    if (1..=DEVICE_BYTES_MAX).contains(&device.len()) && device.chars().all(fits) {
        return Ok(());
    }
    Err(Failure::Usage(format!(
        "the device {device:?}: init takes 1 to {DEVICE_BYTES_MAX} letters, digits, `.`, `_` and `-`"
    )))
}

/// Asks on a terminal, where somebody is there.
struct Asker {
    asks: bool,
}

impl Asker {
    fn text(&self, question: &str, usual: &str) -> Result<String, Failure> {
        if !self.asks {
            return Ok(usual.to_owned());
        }
        let mut err = io::stderr().lock();
        let asked = write!(err, "{question} [{usual}] ").and_then(|()| err.flush());
        let mut line = String::new();
        match asked.and_then(|()| io::stdin().read_line(&mut line)) {
            Ok(0) => Err(Failure::new("no answer; nothing was written")),
            Ok(_) if line.trim().is_empty() => Ok(usual.to_owned()),
            Ok(_) => Ok(line.trim().to_owned()),
            Err(error) => {
                Err(Failure::new(format!("the answer cannot be read: {error}; nothing was written")))
            }
        }
    }

    /// One of several words; the flag's, where it was given.
    fn choice<T: ValueEnum>(&self, question: &str, flag: Option<T>, usual: T) -> Result<T, Failure> {
        if let (Some(given), _) | (None, Some(given)) = (flag, (!self.asks).then(|| usual.clone())) {
            return Ok(given);
        }
        let mut err = io::stderr().lock();
        for value in T::value_variants().iter().filter_map(ValueEnum::to_possible_value) {
            let help = value.get_help().map(ToString::to_string).unwrap_or_default();
            let _ = writeln!(err, "  {:<13} {help}", value.get_name());
        }
        drop(err);
        let usual = usual.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default();
        loop {
            match T::from_str(&self.text(question, &usual)?, true) {
                Ok(chosen) => return Ok(chosen),
                Err(_) => drop(writeln!(io::stderr(), "That is none of them.")),
            }
        }
    }
}
