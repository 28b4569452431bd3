//! Where a browser goes after its login: a path of this server, never another site.

/// Bytes of a path with its query.
pub const PATH_BYTES_MAX: usize = 1_024;

/// A path of this server with its query, safe as the value of `Location`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReturnPath(Box<str>);

impl ReturnPath {
    /// Reads a path. `None` for every text that a browser may take for another site: URLs, `//host`
    /// and `/\host`, with or without control characters between, which browsers remove.
    pub fn parse(text: &str) -> Option<Self> {
        let is_plain =
            text.len() <= PATH_BYTES_MAX && text.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\');
        (is_plain && text.starts_with('/') && !text.starts_with("//")).then(|| Self(text.into()))
    }

    /// The path.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Default for ReturnPath {
    /// The root.
    fn default() -> Self {
        Self("/".into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_this_server_are_read() {
        for good in ["/", "/console", "/console/queues?name=a%2Fb&x=//y#z"] {
            assert_eq!(ReturnPath::parse(good).expect(good).as_str(), good);
        }
    }

    #[test]
    fn other_sites_are_refused() {
        for bad in [
            "",
            "console",
            "//evil.example",
            "///evil.example",
            "/\\evil.example",
            "\\\\evil.example",
            "/\t/evil.example",
            "/\n/evil.example",
            "/a\\..\\b",
            "/a\r\nSet-Cookie: a=b",
            " /console",
            "/ü",
            "https://evil.example",
            "https:evil.example",
            "javascript:alert(1)",
            "data:text/html,x",
        ] {
            assert_eq!(ReturnPath::parse(bad), None, "{bad:?}");
        }
        assert_eq!(ReturnPath::parse(&format!("/{}", "a".repeat(PATH_BYTES_MAX))), None);
    }
}
