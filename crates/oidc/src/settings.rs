//! How this server is known to its provider: the settings of a relying party, and their rules.
//!
//! Files and the provider itself are not looked at here.

use std::time::Duration;

use stadium_token_keys::is_loopback_http;

use crate::secret::Secret;
use crate::{Error, Transport, web_address};

/// The largest tolerance for clocks.
pub const LEEWAY_MAX: Duration = Duration::from_secs(600);

/// Scopes, and the bytes of each.
const SCOPES_MAX: usize = 32;
const TEXT_BYTES_MAX: usize = 256;

/// A relying party's registration with one provider.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The issuer, exactly as the provider writes it: `https://`, or `http://` on this machine.
    pub issuer: String,
    /// The client id that the provider registered.
    pub client_id: String,
    /// The client secret; none for a public client, which PKCE protects.
    pub client_secret: Option<Secret>,
    /// The URL of the callback, as registered: `https://`, or `http://` on this machine.
    pub redirect_url: String,
    /// The URL that the provider sends a browser to after a logout, as registered there. Without it
    /// the provider shows its own page.
    pub post_logout_redirect_url: Option<String>,
    /// The scopes to ask for; `openid` is among them. None asks for `openid profile email`, and for
    /// `groups` where the provider announces that scope: others refuse scopes that they do not
    /// know.
    pub scopes: Option<Vec<String>>,
    /// The claim with the groups: a list of strings, or one string with spaces between.
    pub groups_claim: String,
    /// PEM with the authorities of the provider's certificate; none for those of the system.
    pub authorities: Option<Vec<u8>>,
    /// The tolerance for clocks that differ, at most [`LEEWAY_MAX`].
    pub leeway: Duration,
}

impl Settings {
    /// A public client with defaults: groups in `groups`, 60 s of leeway.
    pub fn new(issuer: &str, client_id: &str, redirect_url: &str) -> Self {
        Self {
            issuer: issuer.to_owned(),
            client_id: client_id.to_owned(),
            client_secret: None,
            redirect_url: redirect_url.to_owned(),
            post_logout_redirect_url: None,
            scopes: None,
            groups_claim: "groups".to_owned(),
            authorities: None,
            leeway: Duration::from_secs(60),
        }
    }

    /// How browsers reach this server, which decides on the form of cookies.
    pub fn transport(&self) -> Transport {
        match is_loopback_http(&self.redirect_url) {
            true => Transport::LoopbackHttp,
            false => Transport::Https,
        }
    }

    /// Checks the settings alone: no file is read, and nothing is fetched.
    ///
    /// # Errors
    /// [`Error::Setting`] with the first field that is wrong.
    pub fn check(&self) -> Result<(), Error> {
        let wrong = |name, problem: &str| Err(Error::Setting { name, problem: problem.to_owned() });
        let is_text = |text: &str| {
            (1..=TEXT_BYTES_MAX).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic())
        };
        let url = |name, url: &str| {
            let of = |problem| Error::Setting { name, problem: format!("{url} {problem}") };
            web_address::check(url).map_err(of)
        };
        url("issuer", &self.issuer)?;
        if self.issuer.contains('?') {
            return wrong("issuer", "an issuer has no query");
        }
        url("redirect_url", &self.redirect_url)?;
        if let Some(after) = &self.post_logout_redirect_url {
            url("post_logout_redirect_url", after)?;
        }
        if !is_text(&self.client_id) {
            return wrong("client_id", "it has 1 to 256 characters of ASCII without blanks");
        }
        let secret = self.client_secret.as_ref().map(Secret::expose);
        if secret.is_some_and(|secret| secret.is_empty() || secret.contains(char::is_control)) {
            return wrong("client_secret", "it is empty, or holds a line end or another control character");
        }
        if let Some(scopes) = &self.scopes
            && (scopes.len() > SCOPES_MAX
                || !scopes.iter().all(|scope| is_text(scope))
                || !scopes.iter().any(|scope| scope == "openid"))
        {
            return wrong("scopes", "1 to 32 words, and `openid` is one of them");
        }
        if !is_text(&self.groups_claim) {
            return wrong("groups_claim", "it has 1 to 256 characters of ASCII without blanks");
        }
        if self.leeway > LEEWAY_MAX {
            return wrong("leeway", "at most 10 minutes");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn good() -> Settings {
        Settings::new("https://id.example.org", "stadium", "https://stadium.example.org/login/callback")
    }

    type Change = fn(&mut Settings);

    #[test]
    fn each_setting_is_checked() {
        assert!(good().check().is_ok());
        let bad: [(&str, Change); 11] = [
            ("issuer", |s| s.issuer = "http://id.example.org".to_owned()),
            ("issuer", |s| s.issuer = "https://id.example.org?a=b".to_owned()),
            ("redirect_url", |s| s.redirect_url = "/callback".to_owned()),
            ("post_logout_redirect_url", |s| s.post_logout_redirect_url = Some("/".to_owned())),
            ("client_id", |s| s.client_id = String::new()),
            ("client_secret", |s| s.client_secret = Some(Secret::new(""))),
            ("client_secret", |s| s.client_secret = Some(Secret::new("secret\n"))),
            ("scopes", |s| s.scopes = Some(vec!["profile".to_owned()])),
            ("scopes", |s| s.scopes = Some(vec!["openid".to_owned(), "a b".to_owned()])),
            ("groups_claim", |s| s.groups_claim = String::new()),
            ("leeway", |s| s.leeway = Duration::from_secs(601)),
        ];
        for (expected, change) in bad {
            let mut settings = good();
            change(&mut settings);
            match settings.check() {
                Err(Error::Setting { name, .. }) => assert_eq!(name, expected),
                other => panic!("{expected}: {other:?}"),
            }
        }
    }

    #[test]
    fn the_secret_is_not_printed() {
        let settings = Settings { client_secret: Some(Secret::new("hunter2")), ..good() };
        assert!(!format!("{settings:?}").contains("hunter2"));
    }
}
