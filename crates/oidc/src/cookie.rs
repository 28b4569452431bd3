//! The text of `Set-Cookie` and `Cookie` (RFC 6265bis).
//!
//! Over `https://` the name has the prefix `__Host-`: browsers then accept the cookie only from
//! this host, secure, and for all paths, so that no neighbour of the domain can plant one. On
//! `http://` of the own machine browsers refuse the prefix, and the name goes without it.

use std::time::Duration;

use crate::secret::{Secret, TOKEN_CHARS};

/// How browsers reach this server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// `https://`, here or at a proxy in front.
    Https,
    /// `http://` on the own machine.
    LoopbackHttp,
}

/// The cookies of this server. Both hold a random token, and no script can read them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cookie {
    /// Names a session.
    Session,
    /// Binds a pending login to its browser.
    Login,
}

impl Cookie {
    /// The cookie's name.
    pub fn name(self, transport: Transport) -> &'static str {
        match (self, transport) {
            (Self::Session, Transport::Https) => "__Host-stadium-session",
            (Self::Session, Transport::LoopbackHttp) => "stadium-session",
            (Self::Login, Transport::Https) => "__Host-stadium-login",
            (Self::Login, Transport::LoopbackHttp) => "stadium-login",
        }
    }

    /// The value of `Set-Cookie` that gives a browser the token for this long, in whole seconds.
    ///
    /// `SameSite=Lax`: the provider's redirect to the callback must carry the cookie, and requests
    /// that other sites make with an unsafe method must not.
    pub fn set(self, token: &Secret, lifetime: Duration, transport: Transport) -> String {
        self.text(token.expose(), lifetime.as_secs(), transport)
    }

    /// The value of `Set-Cookie` that has a browser forget the cookie.
    pub fn clear(self, transport: Transport) -> String {
        self.text("", 0, transport)
    }

    fn text(self, value: &str, seconds: u64, transport: Transport) -> String {
        let name = self.name(transport);
        let secure = match transport {
            Transport::Https => "; Secure",
            Transport::LoopbackHttp => "",
        };
        format!("{name}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Lax{secure}")
    }

    /// The token in the values of a request's `Cookie` fields. `None` where the cookie is absent,
    /// is not a token of this server, or stands twice: then one of the two was planted.
    pub fn find<'h>(
        self,
        fields: impl IntoIterator<Item = &'h [u8]>,
        transport: Transport,
    ) -> Option<&'h str> {
        let name = self.name(transport).as_bytes();
        let pairs = fields.into_iter().flat_map(|field| field.split(|byte| *byte == b';'));
        let mut values = pairs.filter_map(|pair| {
            let pair = pair.trim_ascii();
            pair.strip_prefix(name)?.strip_prefix(b"=")
        });
        let value = values.next()?;
        if values.next().is_some() {
            return None;
        }
        let is_token = value.len() == TOKEN_CHARS
            && value.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'));
        std::str::from_utf8(value).ok().filter(|_| is_token)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cookies_are_bound_to_the_host() {
        let token = Secret::new("token");
        let hour = Duration::from_secs(3_600);
        assert_eq!(
            Cookie::Session.set(&token, hour, Transport::Https),
            "__Host-stadium-session=token; Path=/; Max-Age=3600; HttpOnly; SameSite=Lax; Secure"
        );
        assert_eq!(
            Cookie::Login.set(&token, hour, Transport::LoopbackHttp),
            "stadium-login=token; Path=/; Max-Age=3600; HttpOnly; SameSite=Lax"
        );
        assert_eq!(
            Cookie::Login.clear(Transport::Https),
            "__Host-stadium-login=; Path=/; Max-Age=0; HttpOnly; SameSite=Lax; Secure"
        );
    }

    #[test]
    fn a_token_is_found_once_or_not_at_all() {
        let token = "A".repeat(TOKEN_CHARS);
        let find = |fields: &[String]| {
            let fields = fields.iter().map(String::as_bytes);
            Cookie::Session.find(fields, Transport::Https).map(str::to_owned)
        };
        let cookie = format!("__Host-stadium-session={token}");
        assert_eq!(find(std::slice::from_ref(&cookie)).as_ref(), Some(&token));
        assert_eq!(find(&[format!("a=b; {cookie}; c=d")]).as_ref(), Some(&token));
        assert_eq!(find(&["a=b".to_owned(), cookie.clone()]).as_ref(), Some(&token), "two fields");
        for bad in [
            vec![],
            vec![format!("{cookie}; {cookie}")],
            vec![cookie.clone(), cookie.clone()],
            vec![format!("stadium-session={token}")],
            vec![format!("x__Host-stadium-session={token}")],
            vec![format!("__host-stadium-session={token}")],
            vec![format!("__Host-stadium-session=\"{token}\"")],
            vec![format!("{cookie}A")],
            vec!["__Host-stadium-session=".to_owned()],
            vec![format!("__Host-stadium-session={}", "é".repeat(21) + "A")],
            vec![format!("__Host-stadium-session={}", "A".repeat(42) + "+")],
        ] {
            assert_eq!(find(&bad), None, "{bad:?}");
        }
    }
}
