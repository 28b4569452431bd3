//! Names: texts that were checked where they were made.
//!
//! Each machine makes its own types of names with [`name!`](crate::name!).

use std::fmt;

/// Why a text is not a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidName {
    /// What it was to name.
    pub what: &'static str,
    /// What is wrong with it.
    pub reason: String,
}

impl fmt::Display for InvalidName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let article = if self.what.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" };
        write!(f, "this is no name of {article} {}: {}", self.what, self.reason)
    }
}

impl std::error::Error for InvalidName {}

/// Makes the type of a name: a text that was checked where it was made, so that nothing behind it has to look again.
///
/// What it names, the most bytes, which characters are allowed, and that rule in words for the error.
#[macro_export]
macro_rules! name {
    ($(#[$docs:meta])* $name:ident, $what:literal, $bytes_max:literal, $allowed:expr, $rule:literal) => {
        $(#[$docs])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name($crate::CompactString);

        impl $name {
            /// Bytes that one has at most.
            pub const BYTES_MAX: usize = $bytes_max;

            /// The name, where the text is one.
            ///
            /// # Errors
            ///
            /// An empty text, one that is too long, and one with characters that are not allowed.
            pub fn new(text: &str) -> Result<Self, $crate::InvalidName> {
                let wrong = |reason| Err($crate::InvalidName { what: $what, reason });
                if text.is_empty() {
                    return wrong("it is empty".into());
                }
                if text.len() > Self::BYTES_MAX {
                    return wrong(format!("it has {} bytes; {} are allowed", text.len(), Self::BYTES_MAX));
                }
                let allowed: fn(char) -> bool = $allowed;
                match text.chars().find(|&c| !allowed(c)) {
                    Some(c) => wrong(format!("it holds {c:?}; {}", $rule)),
                    None => Ok(Self(text.into())),
                }
            }

            /// What stands in a free place of a table.
            #[allow(dead_code, reason = "not every name is in a table")]
            pub(crate) fn vacant() -> Self {
                Self($crate::CompactString::const_new(""))
            }

            /// The text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }

        impl std::str::FromStr for $name {
            type Err = $crate::InvalidName;

            fn from_str(text: &str) -> Result<Self, $crate::InvalidName> {
                Self::new(text)
            }
        }
    };
}
