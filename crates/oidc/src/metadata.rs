//! A provider's metadata (OpenID Connect Discovery 1.0, 3), and the rules that it must keep.

use serde::Deserialize;
use stadium_token_keys::is_loopback_http;

use crate::web_address;

/// The provider's description of itself.
#[derive(Debug, Deserialize)]
pub(crate) struct Metadata {
    issuer: String,
    pub(crate) authorization_endpoint: String,
    pub(crate) token_endpoint: String,
    pub(crate) jwks_uri: String,
    pub(crate) userinfo_endpoint: Option<String>,
    pub(crate) end_session_endpoint: Option<String>,
    #[serde(default)]
    scopes_supported: Vec<String>,
    response_types_supported: Option<Vec<String>>,
    code_challenge_methods_supported: Option<Vec<String>>,
    token_endpoint_auth_methods_supported: Option<Vec<String>>,
    #[serde(default)]
    pub(crate) authorization_response_iss_parameter_supported: bool,
}

/// How this server proves at the token endpoint that it is the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ClientProof {
    /// `client_secret_basic`.
    Basic,
    /// `client_secret_post`.
    Post,
    /// `none`: PKCE alone.
    Public,
}

impl Metadata {
    /// Reads the document of this issuer.
    pub(crate) fn parse(json: &[u8], issuer: &str) -> Result<Self, String> {
        let metadata: Self =
            serde_json::from_slice(json).map_err(|error| format!("it is not metadata: {error}"))?;
        // Discovery 1.0, 4.3: exactly, or one provider could speak for another.
        if metadata.issuer != issuer {
            return Err(format!("it is of the issuer {:?}, not of {issuer:?}", metadata.issuer));
        }
        let optional = [&metadata.userinfo_endpoint, &metadata.end_session_endpoint];
        let required = [&metadata.authorization_endpoint, &metadata.token_endpoint, &metadata.jwks_uri];
        for url in required.into_iter().chain(optional.into_iter().flatten()) {
            web_address::check(url).map_err(|problem| format!("its URL {url:?} {problem}"))?;
            if is_loopback_http(url) && !is_loopback_http(issuer) {
                return Err(format!("its URL {url:?} is http://, its issuer https://"));
            }
        }
        let lacks = |list: &Option<Vec<String>>, word: &str| {
            list.as_ref().is_some_and(|list| !list.iter().any(|one| one == word))
        };
        if lacks(&metadata.response_types_supported, "code") {
            return Err("it does not offer the Authorization Code flow (response type code)".to_owned());
        }
        // Absent says nothing: some providers support PKCE without announcing it.
        if lacks(&metadata.code_challenge_methods_supported, "S256") {
            return Err("it does not offer PKCE with S256".to_owned());
        }
        Ok(metadata)
    }

    /// Whether the provider announces a scope.
    pub(crate) fn offers_scope(&self, scope: &str) -> bool {
        self.scopes_supported.iter().any(|offered| offered == scope)
    }

    /// The proof for a client with a secret: `client_secret_basic` where it is offered, which is
    /// the default where nothing is announced.
    pub(crate) fn proof_by_secret(&self) -> Option<ClientProof> {
        let Some(offered) = &self.token_endpoint_auth_methods_supported else {
            return Some(ClientProof::Basic);
        };
        let offers = |method: &str| offered.iter().any(|one| one == method);
        match (offers("client_secret_basic"), offers("client_secret_post")) {
            (true, _) => Some(ClientProof::Basic),
            (false, true) => Some(ClientProof::Post),
            (false, false) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    const ISSUER: &str = "https://id.example.org";

    fn parse(changes: Value) -> Result<Metadata, String> {
        let mut document = json!({
            "issuer": ISSUER,
            "authorization_endpoint": "https://id.example.org/auth",
            "token_endpoint": "https://id.example.org/token",
            "jwks_uri": "https://keys.example.org/keys",
            "some_extension": { "a": 1 },
        });
        for (name, value) in changes.as_object().expect("an object") {
            document[name] = value.clone();
        }
        Metadata::parse(document.to_string().as_bytes(), ISSUER)
    }

    #[test]
    fn the_least_that_a_provider_says_is_enough() {
        let metadata = parse(json!({})).expect("good");
        assert_eq!(metadata.proof_by_secret(), Some(ClientProof::Basic));
        assert!(!metadata.offers_scope("groups"));
        assert!(!metadata.authorization_response_iss_parameter_supported);
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        for (changes, expected) in [
            (json!({ "issuer": "https://id.example.org/" }), "issuer"),
            (json!({ "issuer": "https://evil.example.org" }), "issuer"),
            (json!({ "token_endpoint": null }), "not metadata"),
            (json!({ "token_endpoint": "http://id.example.org/token" }), "https"),
            (json!({ "token_endpoint": "http://127.0.0.1/token" }), "http://"),
            (json!({ "jwks_uri": "file:///etc/passwd" }), "https"),
            (json!({ "userinfo_endpoint": "/userinfo" }), "https"),
            (json!({ "end_session_endpoint": "javascript:alert(1)" }), "https"),
            (json!({ "response_types_supported": ["id_token"] }), "code"),
            (json!({ "code_challenge_methods_supported": ["plain"] }), "S256"),
        ] {
            let problem = parse(changes.clone()).err().unwrap_or_default();
            assert!(problem.contains(expected), "{changes}: {problem}");
        }
        assert!(Metadata::parse(b"<html>", ISSUER).is_err());
    }

    #[test]
    fn the_client_proves_itself_as_the_provider_offers() {
        let proof = |methods: Value| {
            let changes = json!({ "token_endpoint_auth_methods_supported": methods });
            parse(changes).expect("good").proof_by_secret()
        };
        assert_eq!(proof(json!(["client_secret_post", "client_secret_basic"])), Some(ClientProof::Basic));
        assert_eq!(proof(json!(["private_key_jwt", "client_secret_post"])), Some(ClientProof::Post));
        assert_eq!(proof(json!(["private_key_jwt"])), None);
    }
}
