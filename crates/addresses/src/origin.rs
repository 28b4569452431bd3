//! The origin of a web page, as a browser states it (RFC 6454).
//!
//! A browser always sends `Origin` with a request that a page of another site makes, and a page
//! cannot change it.

/// Whether a page of `origin` may make this request: it is of the `host` that the request names, or
/// listed. `"*"` in the list stands for every origin.
pub fn origin_is_allowed(origin: &str, host: Option<&str>, listed: &[String]) -> bool {
    if listed.iter().any(|one| one == "*" || one.eq_ignore_ascii_case(origin)) {
        return true;
    }
    let Some((scheme, authority)) = origin.split_once("://") else { return false };
    let port = if scheme.eq_ignore_ascii_case("https") { ":443" } else { ":80" };
    let without_port = |host: &str| host.strip_suffix(port).unwrap_or(host).to_ascii_lowercase();
    host.is_some_and(|host| without_port(host) == without_port(authority))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_of_the_own_host_and_of_listed_origins_are_allowed() {
        let listed = ["https://app.example.org".to_owned()];
        let allowed = |origin, host| origin_is_allowed(origin, host, &listed);
        assert!(allowed("http://127.0.0.1:8080", Some("127.0.0.1:8080")));
        assert!(allowed("https://Push.example.org", Some("push.example.org:443")));
        assert!(allowed("https://APP.example.org", None));
        assert!(!allowed("https://evil.example", Some("push.example.org")));
        assert!(!allowed("http://127.0.0.1:8081", Some("127.0.0.1:8080")));
        assert!(!allowed("null", Some("null")));
        assert!(!allowed("https://push.example.org", None));
        assert!(origin_is_allowed("https://evil.example", None, &["*".to_owned()]));
    }
}
