//! Cookies that answers set and a user's later requests carry, until its session is over (RFC 6265).
//!
//! Ports do not separate them: targets on one host share them, as in a browser. Of a cookie without a path the root is
//! taken, and a domain counts where the answering host is within it; there is no list of public suffixes.

use cookie::Cookie;

/// Cookies of one user at most; one more pushes the oldest out.
const KEPT_MAX: usize = 64;
/// Bytes of a cookie's name and value (RFC 6265, section 6.1); one that is longer is not taken.
const COOKIE_BYTES_MAX: usize = 4096;

/// One user's cookies.
#[derive(Debug, Default)]
pub(crate) struct Cookies {
    kept: Vec<Kept>,
}

#[derive(Debug)]
struct Kept {
    name: String,
    value: String,
    host: String,
    /// Whether hosts below `host` get it too.
    below: bool,
    path: String,
    /// Whether it goes over TLS only.
    secure: bool,
    /// When it is void, in milliseconds of the Unix epoch.
    until_ms: u64,
    /// What it was set by, and by whom.
    received: (Box<[u8]>, Box<str>),
}

/// A request, as far as it decides which cookies it carries.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place<'a> {
    pub(crate) host: &'a str,
    /// With or without a query.
    pub(crate) path: &'a str,
    pub(crate) secured: bool,
    pub(crate) wall_ms: u64,
}

/// Some of a user's cookies, a bit each: they are chosen by a path that lies where they will be written.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Chosen(u64);

const _: () = assert!(KEPT_MAX <= 64);

impl Cookies {
    pub(crate) fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }

    /// A new session knows none.
    pub(crate) fn clear(&mut self) {
        self.kept.clear();
    }

    /// Takes the cookie of a `Set-Cookie` of a host. A text that is no cookie, or is not that
    /// host's to set, is ignored.
    pub(crate) fn take(&mut self, set: &[u8], host: &str, wall_ms: u64) {
        // Many servers send it with every answer. One that ends some time may end later now.
        let is_known =
            |kept: &Kept| kept.until_ms == u64::MAX && *kept.received.0 == *set && *kept.received.1 == *host;
        if self.kept.iter().any(is_known) {
            return;
        }
        let Some(cookie) = std::str::from_utf8(set).ok().and_then(|set| Cookie::parse(set).ok()) else {
            return;
        };
        let domain = cookie.domain().filter(|domain| !domain.is_empty());
        if domain.is_some_and(|domain| !is_within(host, domain))
            || cookie.name().len() + cookie.value().len() > COOKIE_BYTES_MAX
        {
            return;
        }
        let age_ms = cookie.max_age().map(|age| age.whole_milliseconds());
        let expires = cookie.expires_datetime().map(|at| at.unix_timestamp_nanos() / 1_000_000);
        let until = age_ms.map(|age| i128::from(wall_ms) + age.max(0)).or(expires);
        let kept = Kept {
            name: cookie.name().to_owned(),
            value: cookie.value().to_owned(),
            host: domain.unwrap_or(host).to_ascii_lowercase(),
            below: domain.is_some(),
            path: cookie.path().filter(|path| path.starts_with('/')).unwrap_or("/").to_owned(),
            secure: cookie.secure().unwrap_or(false),
            until_ms: until.map_or(u64::MAX, |until| u64::try_from(until.max(0)).unwrap_or(u64::MAX)),
            received: (set.into(), host.into()),
        };
        self.kept.retain(|old| (&old.name, &old.host, &old.path) != (&kept.name, &kept.host, &kept.path));
        if kept.until_ms > wall_ms {
            if self.kept.len() == KEPT_MAX {
                self.kept.remove(0);
            }
            self.kept.push(kept);
        }
    }

    /// Those that a request carries.
    pub(crate) fn of(&self, place: &Place<'_>) -> Chosen {
        let bits =
            self.kept.iter().enumerate().filter(|(_, kept)| kept.goes_to(place)).map(|(at, _)| 1 << at);
        Chosen(bits.fold(0, |all, bit: u64| all | bit))
    }

    /// Writes the value of the `Cookie` header; nothing where none were chosen.
    pub(crate) fn write(&self, chosen: Chosen, out: &mut Vec<u8>) {
        let start = out.len();
        for (_, kept) in self.kept.iter().enumerate().filter(|(at, _)| chosen.0 >> at & 1 == 1) {
            if out.len() > start {
                out.extend_from_slice(b"; ");
            }
            out.extend_from_slice(kept.name.as_bytes());
            out.push(b'=');
            out.extend_from_slice(kept.value.as_bytes());
        }
    }
}

impl Kept {
    fn goes_to(&self, place: &Place<'_>) -> bool {
        let is_host = if self.below {
            is_within(place.host, &self.host)
        } else {
            place.host.eq_ignore_ascii_case(&self.host)
        };
        // RFC 6265, section 5.1.4: whole segments only.
        let is_below = place
            .path
            .strip_prefix(&*self.path)
            .is_some_and(|rest| rest.is_empty() || self.path.ends_with('/') || rest.starts_with(['/', '?']));
        is_host && is_below && (place.secured || !self.secure) && self.until_ms > place.wall_ms
    }
}

/// Whether a host is a domain or below it (RFC 6265, section 5.1.3).
fn is_within(host: &str, domain: &str) -> bool {
    let Some(above) = host.len().checked_sub(domain.len()) else { return false };
    let (before, end) = host.as_bytes().split_at(above);
    end.eq_ignore_ascii_case(domain.as_bytes())
        && (before.is_empty() || (before.ends_with(b".") && host.parse::<std::net::IpAddr>().is_err()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(cookies: &Cookies, url: &str, wall_ms: u64) -> String {
        let (scheme, rest) = url.split_once("://").unwrap();
        let slash = rest.find('/').unwrap();
        let place = Place { host: &rest[..slash], path: &rest[slash..], secured: scheme == "https", wall_ms };
        let mut out = Vec::new();
        cookies.write(cookies.of(&place), &mut out);
        String::from_utf8(out).unwrap()
    }

    fn set(lines: &[&str]) -> Cookies {
        let mut cookies = Cookies::default();
        for line in lines {
            cookies.take(line.as_bytes(), "www.shop.example", 1_000);
        }
        cookies
    }

    #[test]
    fn cookies_go_where_they_belong() {
        let cookies = set(&[
            "session=a1; Path=/; HttpOnly",
            "basket=b2; Path=/cart",
            "wide=c3; Domain=shop.example; Secure",
            "stranger=d4; Domain=other.example",
        ]);
        assert_eq!(sent(&cookies, "http://www.shop.example/", 1_000), "session=a1");
        assert_eq!(sent(&cookies, "http://WWW.shop.example/cart?x=1", 1_000), "session=a1; basket=b2");
        assert_eq!(sent(&cookies, "http://www.shop.example/cartoon", 1_000), "session=a1");
        assert_eq!(sent(&cookies, "https://api.shop.example/", 1_000), "wide=c3");
        assert_eq!(sent(&cookies, "https://evilshop.example/", 1_000), "");
    }

    #[test]
    fn a_cookie_is_replaced_and_ends_in_time() {
        let mut cookies = set(&["a=1", "a=2", "short=1; Max-Age=2"]);
        assert_eq!(sent(&cookies, "http://www.shop.example/", 2_999), "a=2; short=1");
        assert_eq!(sent(&cookies, "http://www.shop.example/", 3_000), "a=2");
        cookies.take(b"a=; Expires=Thu, 01 Jan 1970 00:00:00 GMT", "www.shop.example", 1_000);
        assert_eq!(sent(&cookies, "http://www.shop.example/", 3_000), "");
        assert!(!cookies.is_empty());
        cookies.clear();
        assert!(cookies.is_empty());
    }

    #[test]
    fn malformed_cookies_are_ignored_and_the_number_of_cookies_is_bounded() {
        let mut cookies = set(&["", "=", "no equals sign", "\u{0}"]);
        cookies.take(&[0xff, b'=', b'1'], "h", 0);
        cookies.take(format!("long={}", "x".repeat(COOKIE_BYTES_MAX)).as_bytes(), "h", 0);
        assert!(cookies.is_empty(), "{cookies:?}");
        for number in 0..100 {
            cookies.take(format!("c{number}=1").as_bytes(), "h", 0);
        }
        assert_eq!(cookies.kept.len(), KEPT_MAX);
        assert_eq!(cookies.kept[0].name, "c36");
    }
}
