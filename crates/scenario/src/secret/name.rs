//! Which names are those of secrets.

/// Last words of names that stand for a secret.
const WORDS: &[&str] = &[
    "apikey",
    "auth",
    "authorization",
    "bearer",
    "cookie",
    "credential",
    "credentials",
    "jwt",
    "key",
    "otp",
    "pass",
    "passphrase",
    "passwd",
    "password",
    "pwd",
    "secret",
    "sig",
    "signature",
    "token",
];

/// Endings of names that are written in one word, such as `accesstoken`.
const ENDINGS: &[&str] = &["apikey", "passphrase", "passwd", "password", "secret", "token"];

/// Whether what a name stands for is a secret: its last word is `password`, `token`, `key`, `authorization` or the like.
///
/// Words end at anything but letters and digits, and before a capital after a small letter:
/// `x-api-key`, `accessToken`. `key_file` and `token_url` are no secrets: they state where one is.
pub fn is_secret_name(name: &str) -> bool {
    let word = last_word(name);
    WORDS.contains(&word.as_str()) || ENDINGS.iter().any(|ending| word.ends_with(ending))
}

fn last_word(name: &str) -> String {
    let name = name.trim_end_matches(|at: char| !at.is_ascii_alphanumeric());
    let mut word = Vec::new();
    let mut after = None;
    for at in name.chars().rev() {
        let ends = !at.is_ascii_alphanumeric()
            || (at.is_ascii_lowercase() && after.is_some_and(|after: char| after.is_ascii_uppercase()));
        if ends {
            break;
        }
        word.push(at.to_ascii_lowercase());
        after = Some(at);
    }
    word.iter().rev().collect()
}

#[cfg(test)]
mod tests {
    use super::is_secret_name;

    #[test]
    fn a_name_is_known_by_its_last_word() {
        for name in [
            "key",
            "token",
            "Password",
            "db_password",
            "x-api-key",
            "X-API-KEY",
            "accessToken",
            "apiKey",
            "apikey",
            "accesstoken",
            "Authorization",
            "Proxy-Authorization",
            "Set-Cookie",
            "STADIUM_LOAD_KEY",
            "client_secret",
            "--worker-key",
            "$.password",
            "$.user['token']",
            "user.pass",
        ] {
            assert!(is_secret_name(name), "{name}");
        }
        for name in [
            "",
            "keys",
            "keyboard",
            "key_file",
            "token_url",
            "tokens_max",
            "monkey",
            "user_name",
            "keep_alive",
            "author",
            "cookies",
            "-",
            "passed",
        ] {
            assert!(!is_secret_name(name), "{name}");
        }
    }
}
