//! A role as the API reads, writes and describes it.
//!
//! The words are those of [`Role`].

use std::borrow::Cow;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use stadium_grants::Role;
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
