//! The rules that every URL of a login keeps.

use stadium_token_keys::is_loopback_http;
use ureq::http::Uri;

/// Bytes of a URL of the settings or of a provider's metadata.
const URL_BYTES_MAX: usize = 2_048;

/// Checks a URL: `https://`, or `http://` on this machine; a host; no user, no fragment.
pub(crate) fn check(url: &str) -> Result<(), &'static str> {
    if url.len() > URL_BYTES_MAX {
        return Err("is longer than 2048 bytes");
    }
    if !url.bytes().all(|byte| byte.is_ascii_graphic()) || url.contains(['#', '\\', '"']) {
        return Err("holds a fragment, or characters that no URL has");
    }
    if !url.starts_with("https://") && !is_loopback_http(url) {
        return Err("is not https:// (http:// is for this machine only)");
    }
    let parsed: Uri = url.parse().map_err(|_| "is not a URL")?;
    let authority = parsed.authority().map(|authority| authority.as_str()).unwrap_or_default();
    if authority.contains('@') || parsed.host().is_none_or(str::is_empty) {
        return Err("names a user, or no host");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::check;

    #[test]
    fn urls_are_https_or_of_this_machine() {
        for good in ["https://id.example.org", "https://id.example.org:8443/a?b=c", "http://127.0.0.1:1/x"] {
            assert_eq!(check(good), Ok(()), "{good}");
        }
        for bad in [
            "http://id.example.org",
            "ftp://id.example.org",
            "//id.example.org",
            "https://",
            "https://user@id.example.org",
            "https://id.example.org/#top",
            "https://id.example.org/a b",
            "https://id.example.org/\n",
            "HTTPS://id.example.org",
            "",
        ] {
            assert!(check(bad).is_err(), "{bad}");
        }
        assert!(check(&format!("https://a/{}", "b".repeat(2_048))).is_err());
    }
}
