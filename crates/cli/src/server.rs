//! Which server a command talks to, and with which key.
//!
//! Each of address, key and authority comes from the first of: flags, the environment, the profile,
//! the default, which is the server of this machine's configuration. A profile that is named by
//! `--profile` counts as a flag. Failures name the source. The key of a profile goes to the server
//! of that profile and to no other.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use ureq::tls::{PemItem, RootCerts, TlsConfig, parse_pem};

use crate::failure::{Context, Failure};
use crate::packaged;
use crate::profile::{Profile, Profiles};
use crate::settings_flags::SettingsFlags;

/// The authorities of the system, where Debian keeps them.
const SYSTEM_AUTHORITIES: &str = "/etc/ssl/certs/ca-certificates.crt";

/// The app that is always there.
const DEFAULT_APP: &str = "default";

/// Which server to talk to.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Server")]
pub(crate) struct ServerFlags {
    /// The server, http://HOST:PORT or HOST:PORT [env: STADIUM_URL] [default: the profile's, else
    /// the one of the data directory, else http://127.0.0.1:8080]
    #[arg(long, value_name = "URL")]
    pub(crate) url: Option<String>,
    /// API key; other users of this machine can see it here, and not in the environment or a file
    /// [env: STADIUM_KEY]
    #[arg(long, value_name = "KEY")]
    pub(crate) key: Option<String>,
    /// File with the API key, before --key [env: STADIUM_KEY_FILE] [default: the profile's, else
    /// admin.key of the data directory]
    #[arg(long, value_name = "FILE")]
    pub(crate) key_file: Option<PathBuf>,
    /// Authority that the server's certificate leads to, PEM [env: STADIUM_CA] [default: the system's]
    #[arg(long, value_name = "FILE")]
    pub(crate) ca: Option<PathBuf>,
    /// Data directory of a server on this machine, for its address and key [default: server.data of
    /// the configuration here, else that of the package's server, /var/lib/stadium]
    #[arg(long, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
    /// The profile, see `stadium profile` [env: STADIUM_PROFILE] [default: the current one]
    #[arg(long, value_name = "NAME")]
    pub(crate) profile: Option<String>,
}

/// Where something came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Origin {
    /// A flag, as it is spelt.
    Flag(&'static str),
    /// An environment variable.
    Variable(&'static str),
    /// A profile.
    Profile { name: String, file: PathBuf },
    /// The data directory of the server on this machine.
    Data(PathBuf),
    /// Nothing named one.
    Default,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag(flag) => f.write_str(flag),
            Self::Variable(name) => f.write_str(name),
            Self::Profile { name, file } => write!(f, "the profile {name} in {}", file.display()),
            Self::Data(folder) => write!(f, "the data directory {}", folder.display()),
            Self::Default => f.write_str("the default"),
        }
    }
}

/// The server that is meant.
#[derive(Debug)]
pub(crate) struct Server {
    /// Its address, without a slash at its end.
    pub(crate) url: String,
    /// Source of the address.
    pub(crate) url_from: Origin,
    /// The key, where there is one.
    pub(crate) key: Option<String>,
    /// Source of the key.
    pub(crate) key_from: String,
    /// The advice where the key is refused or missing.
    pub(crate) key_hint: String,
    /// The authority that its certificate leads to, where it is not the system's.
    pub(crate) ca: Option<PathBuf>,
    /// The app that is meant where none is named.
    pub(crate) app: String,
}

/// The values of one source.
struct Layer {
    origin: Option<Origin>,
    url: Option<String>,
    key: Option<String>,
    key_file: Option<PathBuf>,
    ca: Option<PathBuf>,
    data: Option<PathBuf>,
}

impl Layer {
    /// The source of a field, which flags and variables have names for.
    fn from(&self, flag: &'static str, variable: &'static str, is_flags: bool) -> Origin {
        match &self.origin {
            Some(origin) => origin.clone(),
            None if is_flags => Origin::Flag(flag),
            None => Origin::Variable(variable),
        }
    }
}

/// Where the server is.
struct Place {
    url: String,
    from: Origin,
    data: Option<PathBuf>,
}

impl Server {
    /// Finds the server and the key.
    pub(crate) fn find(flags: &ServerFlags) -> Result<Self, Failure> {
        let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let profiles = Profiles::load()?;
        let named = match (&flags.profile, variable("STADIUM_PROFILE")) {
            (Some(name), _) => Some((name.clone(), true)),
            (None, Some(name)) => Some((name, false)),
            (None, None) => profiles.current.clone().map(|name| (name, false)),
        };
        let profile = match &named {
            Some((name, _)) => profiles.find(name)?.clone(),
            None => Profile::default(),
        };
        let is_flag = named.as_ref().is_some_and(|(_, is_flag)| *is_flag);
        let app = profile.app.clone().unwrap_or_else(|| DEFAULT_APP.to_owned());
        let origin = named.map(|(name, _)| Origin::Profile { name, file: profiles.file.clone() });
        let flags = flags.clone();
        let flags = Layer {
            origin: None,
            url: flags.url,
            key: flags.key,
            key_file: flags.key_file,
            ca: flags.ca,
            data: flags.data,
        };
        let environment = Layer {
            origin: None,
            url: variable("STADIUM_URL"),
            key: variable("STADIUM_KEY"),
            key_file: variable("STADIUM_KEY_FILE").map(PathBuf::from),
            ca: variable("STADIUM_CA").map(PathBuf::from),
            data: None,
        };
        let profile = Layer {
            origin,
            url: profile.url,
            key: profile.key,
            key_file: profile.key_file,
            ca: profile.ca,
            data: profile.data,
        };
        let layers =
            if is_flag { [&flags, &profile, &environment] } else { [&flags, &environment, &profile] };
        let place = place(layers, &flags)?;
        let of_profile = |layer: &&Layer| {
            let same =
                layer.url.as_deref().and_then(|url| base_url(url).ok()).is_some_and(|url| url == place.url);
            layer.origin.is_none() || layer.origin.as_ref() == Some(&place.from) || same
        };
        let trusted: Vec<&Layer> = layers.into_iter().filter(of_profile).collect();
        let mut ca = None;
        for layer in &trusted {
            ca = ca.or_else(|| layer.ca.clone());
        }
        let (key, key_from) = key(&trusted, &flags, &place)?;
        let mut key_hint =
            if key.is_some() { format!("the key of {key_from} is not accepted") } else { key_from.clone() };
        let kept = layers
            .into_iter()
            .find(|layer| !of_profile(layer) && (layer.key.is_some() || layer.key_file.is_some()));
        if let (Some(origin), true) = (kept.and_then(|layer| layer.origin.as_ref()), key.is_none()) {
            key_hint = format!("{key_hint}; the key of {origin} goes to the server of that profile only");
        }
        Ok(Self { url: place.url, url_from: place.from, key, key_from, key_hint, ca, app })
    }

    /// TLS as it is to be used with this server.
    pub(crate) fn tls(&self) -> Result<TlsConfig, Failure> {
        if self.url.starts_with("https://") { tls(self.ca.as_deref()) } else { Ok(TlsConfig::default()) }
    }
}

/// The address of the first source that has one.
fn place(layers: [&Layer; 3], flags: &Layer) -> Result<Place, Failure> {
    for layer in layers {
        let is_flags = std::ptr::eq(layer, flags);
        if let Some(url) = &layer.url {
            let from = layer.from("--url", "STADIUM_URL", is_flags);
            let url = base_url(url).map_err(|why| Failure::Usage(format!("{from}: {why}")))?;
            return Ok(Place { url, from, data: layer.data.clone() });
        }
        if let Some(data) = &layer.data {
            let from = layer.from("--data", "", is_flags);
            return Ok(Place { url: local_url(data)?, from, data: Some(data.clone()) });
        }
    }
    let data = data_here()?;
    let url = local_url(&data)?;
    let from = if stadium_node::running::read(&data).is_some() {
        Origin::Data(data.clone())
    } else {
        Origin::Default
    };
    Ok(Place { url, from, data: Some(data) })
}

/// The first key and its source, or no key and the reason.
fn key(layers: &[&Layer], flags: &Layer, place: &Place) -> Result<(Option<String>, String), Failure> {
    let trimmed = |key: String| Some(key.trim().to_owned());
    for layer in layers {
        let is_flags = std::ptr::eq(*layer, flags);
        if let Some(file) = &layer.key_file {
            let from = layer.from("--key-file", "STADIUM_KEY_FILE", is_flags);
            let key = std::fs::read_to_string(file);
            let key = key.context(format_args!(
                "the key file {} cannot be read, which {from} names",
                file.display()
            ))?;
            return Ok((trimmed(key), format!("{from}, {}", file.display())));
        }
        if let Some(key) = &layer.key {
            let from = layer.from("--key", "STADIUM_KEY", is_flags);
            return Ok((trimmed(key.clone()), from.to_string()));
        }
    }
    let data = match (&place.data, &flags.data) {
        (_, Some(data)) | (Some(data), None) => data.clone(),
        // The key of this machine's server is none of a profile's.
        (None, None) if matches!(place.from, Origin::Profile { .. }) => {
            return Ok((None, format!("{} has no key", place.from)));
        }
        (None, None) => data_here()?,
    };
    let file = data.join("admin.key");
    Ok(match std::fs::read_to_string(&file) {
        Ok(key) => (trimmed(key), file.display().to_string()),
        Err(error) => (None, format!("{} cannot be read ({error})", file.display())),
    })
}

/// The data directory of the configuration here. Where there is no configuration and no data, that
/// of the server that a package installed.
fn data_here() -> Result<PathBuf, Failure> {
    let loaded = SettingsFlags::default().load()?;
    let data = loaded.settings.server.data;
    let packaged = Path::new(packaged::DATA);
    let is_set = loaded.file.is_some() || std::env::var_os("STADIUM_SERVER__DATA").is_some();
    Ok(if !is_set && !data.exists() && packaged.is_dir() { packaged.to_owned() } else { data })
}

/// The address of a server as it was given: a URL, or HOST:PORT, which is one of `http`.
pub(crate) fn base_url(given: &str) -> Result<String, String> {
    let wrong = |why: &str| Err(format!("{given:?}: {why}; give one as http://127.0.0.1:8080"));
    let (scheme, rest) = given.trim().split_once("://").unwrap_or(("http", given.trim()));
    let (scheme, rest) = (scheme.to_ascii_lowercase(), rest.trim_end_matches('/'));
    if !matches!(&*scheme, "http" | "https") {
        return wrong("a server is asked over http or https");
    }
    if rest.is_empty() || rest.contains(char::is_whitespace) {
        return wrong("it names no host");
    }
    let url = format!("{scheme}://{rest}");
    match url.parse::<ureq::http::Uri>() {
        Ok(uri) => match (uri.host(), uri.authority().map(|authority| authority.as_str())) {
            (None | Some(""), _) | (_, None) => wrong("it names no host"),
            (Some(host), Some(authority)) if authority != host && uri.port_u16().is_none() => {
                wrong("what follows the host is no port")
            }
            _ => Ok(url),
        },
        Err(error) => wrong(&error.to_string()),
    }
}

/// Where a server on this machine listens: what it wrote itself, else the address in its settings.
fn local_url(data: &Path) -> Result<String, Failure> {
    if let Some(url) = stadium_node::running::read(data).and_then(|running| running.http_url) {
        return Ok(url);
    }
    let settings = SettingsFlags::default().load()?.settings;
    let scheme = if settings.http.certificate.is_some() { "https" } else { "http" };
    match settings.http.listen {
        Some(address) if address.ip().is_unspecified() => {
            Ok(format!("{scheme}://127.0.0.1:{}", address.port()))
        }
        Some(address) => Ok(format!("{scheme}://{address}")),
        None => {
            Err(Failure::new("http.listen is off on this machine: name the server with --url or STADIUM_URL"))
        }
    }
}

/// TLS that believes `ca`, or the system's authorities.
fn tls(ca: Option<&Path>) -> Result<TlsConfig, Failure> {
    let path = ca.unwrap_or(Path::new(SYSTEM_AUTHORITIES));
    let pem =
        std::fs::read(path).context(format_args!("the authorities {} cannot be read", path.display()))?;
    let certificates: Vec<_> = parse_pem(&pem)
        .filter_map(|item| match item {
            Ok(PemItem::Certificate(certificate)) => Some(certificate),
            _ => None,
        })
        .collect();
    if certificates.is_empty() {
        return Err(Failure::new(format!(
            "the authorities {}: there is no certificate in it",
            path.display()
        )));
    }
    Ok(TlsConfig::builder()
        .root_certs(RootCerts::new_with_certs(&certificates))
        .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .build())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_named_by_url_or_by_host_and_port() {
        for (given, url) in [
            ("http://127.0.0.1:8080", "http://127.0.0.1:8080"),
            ("127.0.0.1:8080", "http://127.0.0.1:8080"),
            ("localhost:8080/", "http://localhost:8080"),
            ("stadium.example", "http://stadium.example"),
            ("[::1]:8080", "http://[::1]:8080"),
            ("HTTPS://stadium.example/", "https://stadium.example"),
            (" 10.0.0.7:80 ", "http://10.0.0.7:80"),
        ] {
            assert_eq!(base_url(given).expect(given), url);
        }
        for wrong in ["", "http://", "ftp://stadium.example", "a b", "http://:8080", "127.0.0.1:port"] {
            assert!(base_url(wrong).is_err_and(|why| why.contains("http://127.0.0.1:8080")), "{wrong}");
        }
    }
}
