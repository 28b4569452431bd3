//! The settings of sign-in, and the first thing that is wrong with them.
//!
//! Secrets and certificates are files, read at the start. The provider is not asked for anything.

use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fmt, fs, io};

use stadium_grants::Role;
use stadium_oidc::{Error, Provider, RoleMap, Secret, SessionConfig, Settings};

/// Bytes of a file with a secret or with certificates.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// The way back from the provider, as routes name it.
pub(crate) const CALLBACK: &str = "/auth/callback";

/// How people sign in. Its fields are the settings of `[http.oidc]`.
#[derive(Clone, Debug)]
pub struct OidcConfig {
    /// The provider, exactly as it writes itself: `https://`, or `http://` on this machine.
    pub issuer: String,
    /// The id of this server there.
    pub client_id: String,
    /// The file with its secret; none for a public client.
    pub client_secret_file: Option<PathBuf>,
    /// The URL of `/auth/callback` as browsers reach it and as the provider registered it.
    pub redirect_url: String,
    /// The URL that the provider sends a browser to after a logout.
    pub post_logout_redirect_url: Option<String>,
    /// The scopes to ask for; none for those that suit the provider.
    pub scopes: Option<Vec<String>>,
    /// The claim with a person's groups.
    pub groups_claim: String,
    /// The authorities of the provider's certificate, PEM; none for those of the system.
    pub ca: Option<PathBuf>,
    /// Groups, and a role of each. A group may stand several times.
    pub roles: Vec<(String, Role)>,
    /// The time from a sign-in to the end of its session.
    pub session: Duration,
    /// The time from a session's last request to its end.
    pub idle: Duration,
}

/// A setting of `[http.oidc]` that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrongSetting {
    /// The setting, such as `issuer`.
    pub name: &'static str,
    /// The fault.
    pub problem: String,
}

impl fmt::Display for WrongSetting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "http.oidc.{}: {}", self.name, self.problem)
    }
}

impl OidcConfig {
    /// Checks the settings alone, without their files.
    ///
    /// # Errors
    /// The first setting that is wrong.
    pub fn check(&self) -> Result<(), WrongSetting> {
        self.without_files().check().map_err(wrong)?;
        if !self.redirect_url.ends_with(CALLBACK) {
            let problem = format!("{} does not end in {CALLBACK}", self.redirect_url);
            return Err(WrongSetting { name: "redirect_url", problem });
        }
        self.role_map()?;
        Ok(())
    }

    /// Checks the settings and reads their files, as a start does.
    ///
    /// # Errors
    /// The first setting that is wrong.
    pub fn check_with_files(&self) -> Result<(), WrongSetting> {
        self.check()?;
        self.provider().map(drop)
    }

    /// The provider of the settings, not yet asked for anything.
    pub(super) fn provider(&self) -> Result<Provider, WrongSetting> {
        let mut settings = self.without_files();
        if let Some(path) = &self.client_secret_file {
            let text = String::from_utf8(read("client_secret_file", path)?).map_err(|_| WrongSetting {
                name: "client_secret_file",
                problem: format!("{} is no UTF-8 text", path.display()),
            })?;
            settings.client_secret = Some(Secret::new(text.trim_end_matches(['\r', '\n'])));
        }
        settings.authorities = self.ca.as_deref().map(|path| read("ca", path)).transpose()?;
        Provider::new(settings).map_err(wrong)
    }

    /// The roles of each group.
    pub(super) fn role_map(&self) -> Result<RoleMap, WrongSetting> {
        RoleMap::new(self.roles.iter().map(|(group, role)| (group.as_str(), role.word()))).map_err(wrong)
    }

    /// The bounds of sessions.
    pub(super) fn sessions(&self) -> SessionConfig {
        SessionConfig { lifetime: self.session, idle: self.idle, ..SessionConfig::default() }
    }

    fn without_files(&self) -> Settings {
        let mut settings = Settings::new(&self.issuer, &self.client_id, &self.redirect_url);
        settings.post_logout_redirect_url.clone_from(&self.post_logout_redirect_url);
        settings.scopes.clone_from(&self.scopes);
        settings.groups_claim.clone_from(&self.groups_claim);
        settings
    }
}

/// An error of the provider's block, by the name that its setting has here.
pub(super) fn wrong(error: Error) -> WrongSetting {
    match error {
        Error::Setting { name, problem } => {
            let name = match name {
                "authorities" => "ca",
                "client_secret" => "client_secret_file",
                "sessions" => "session_hours",
                name => name,
            };
            WrongSetting { name, problem }
        }
        other => WrongSetting { name: "issuer", problem: other.to_string() },
    }
}

fn read(name: &'static str, path: &Path) -> Result<Vec<u8>, WrongSetting> {
    let read = fs::metadata(path).and_then(|facts| match facts.len() > FILE_BYTES_MAX {
        true => Err(io::Error::other("it has more than 1 MiB")),
        false => fs::read(path),
    });
    read.map_err(|error| WrongSetting { name, problem: format!("cannot read {}: {error}", path.display()) })
}
