//! Roles, verbs and grants as the API reads, writes and describes them.
//!
//! Their words and forms are those of [`stadium_grants`].

use std::borrow::Cow;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use stadium_grants::{Kind, Role, Verb};
use utoipa::openapi::schema::{ObjectBuilder, SchemaType, Type};
use utoipa::openapi::{RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

/// A named list of grants.
#[derive(Clone, Copy)]
pub(crate) struct RoleWord(pub(crate) Role);

impl Serialize for RoleWord {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.0.word())
    }
}

impl<'de> Deserialize<'de> for RoleWord {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let word = Cow::<'de, str>::deserialize(deserializer)?;
        word.parse().map(Self).map_err(serde::de::Error::custom)
    }
}

impl PartialSchema for RoleWord {
    fn schema() -> RefOr<Schema> {
        let words = Role::ALL.map(Role::word);
        ObjectBuilder::new()
            .schema_type(SchemaType::new(Type::String))
            .description(Some("A named list of grants."))
            .enum_values(Some(words))
            .into()
    }
}

impl ToSchema for RoleWord {}

/// The schema of a verb that keys can have.
pub(crate) struct VerbWord;

/// A grant as it is written.
#[derive(Deserialize)]
pub(crate) struct GrantText(pub(crate) String);

/// A limit of requests, of bytes, or of both.
const LIMIT: &str = "( ([1-9][0-9]{0,5}/s|[1-9][0-9]{0,9}B/s|[1-9][0-9]{0,5}/s,[1-9][0-9]{0,9}B/s))?";

fn of_keys() -> impl Iterator<Item = Verb> {
    Verb::ALL.iter().copied().filter(|verb| verb.kind() != Kind::Topic)
}

/// The regular expression (ECMA-262) of a grant.
fn expression() -> String {
    let verbs = of_keys().map(|verb| {
        let resource = match verb.kind() {
            Kind::Node => r"\*",
            Kind::App => r"\*|[!-)+-.0-~]{1,64}\*?",
            Kind::OfApp => r"\*|[A-Za-z0-9._-]{1,64}/[!-)+-~]{0,64}\*?",
            _ if verb == Verb::WalletTransfer => r"\*|debit=[!-)+-~]{0,64}\*?",
            Kind::Name | Kind::Topic => r"\*|[!-)+-~]{1,64}\*?",
        };
        format!("{}(:({resource}))?", verb.word().replace('.', r"\."))
    });
    format!("^({}){LIMIT}$", verbs.collect::<Vec<_>>().join("|"))
}

impl PartialSchema for VerbWord {
    fn schema() -> RefOr<Schema> {
        let words = of_keys().map(Verb::word);
        ObjectBuilder::new()
            .schema_type(SchemaType::new(Type::String))
            .description(Some("An action that needs a right."))
            .enum_values(Some(words))
            .into()
    }
}

impl ToSchema for VerbWord {}

impl PartialSchema for GrantText {
    fn schema() -> RefOr<Schema> {
        ObjectBuilder::new()
            .schema_type(SchemaType::new(Type::String))
            .description(Some("A verb, a pattern of resources and a limit: `queue.put:votes* 100/s`."))
            .pattern(Some(expression()))
            .into()
    }
}

impl ToSchema for GrantText {}
