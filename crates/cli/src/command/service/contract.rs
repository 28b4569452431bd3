//! A service's contract as it describes itself: JSON in and out of its messages, and its methods for people.
//!
//! The contract comes from the service's answer to `describe`: no `.proto` file is needed here. JSON follows the
//! mapping of Protocol Buffers (proto3 JSON); a field that a message does not have is refused by name.

use prost::Message;
use prost_reflect::{
    DescriptorPool, DeserializeOptions, DynamicMessage, Kind, MessageDescriptor, SerializeOptions,
};
use stadium_rpc::proto::method_description::Interaction;
use stadium_rpc::proto::{Description, MethodDescription};

use crate::failure::Failure;

/// A service's description of itself.
pub(super) struct Contract {
    description: Description,
    pool: DescriptorPool,
}

impl Contract {
    /// Reads the answer to `describe`.
    pub(super) fn read(description: Description) -> Result<Self, Failure> {
        let pool = if description.file_descriptor_set.is_empty() {
            DescriptorPool::new()
        } else {
            DescriptorPool::decode(&*description.file_descriptor_set).map_err(|error| {
                Failure::new(format!("{} describes itself by what is no contract: {error}", description.name))
            })?
        };
        Ok(Self { description, pool })
    }

    /// The whole answer.
    pub(super) fn description(&self) -> &Description {
        &self.description
    }

    /// The method of a route, or a failure that names those that there are.
    pub(super) fn method(&self, route: &str) -> Result<&MethodDescription, Failure> {
        let methods = &self.description.methods;
        methods.iter().find(|method| method.route == route).ok_or_else(|| {
            let routes: Vec<&str> = methods.iter().map(|method| method.route.as_str()).collect();
            Failure::Rejected(format!("there is no {route}; there are {}", routes.join(", ")))
        })
    }

    /// A request in the message's own encoding.
    pub(super) fn encode(&self, message: &str, json: &str) -> Result<Vec<u8>, Failure> {
        let descriptor = self.message(message)?;
        let mut deserializer = serde_json::Deserializer::from_str(json);
        let options = DeserializeOptions::new().deny_unknown_fields(true);
        let read = DynamicMessage::deserialize_with_options(descriptor, &mut deserializer, &options)
            .and_then(|read| deserializer.end().map(|()| read));
        let read = read.map_err(|error| {
            Failure::Usage(format!("the request is not a {message}: {error}\n\n{}", self.shape(message)))
        })?;
        Ok(read.encode_to_vec())
    }

    /// An answer as JSON, with the fields that have their default too.
    pub(super) fn decode(&self, message: &str, bytes: &[u8]) -> Result<serde_json::Value, Failure> {
        let unreadable =
            |error: &dyn std::fmt::Display| Failure::new(format!("the answer is not a {message}: {error}"));
        let answer =
            DynamicMessage::decode(self.message(message)?, bytes).map_err(|error| unreadable(&error))?;
        let options = SerializeOptions::new()
            .skip_default_fields(false)
            .use_proto_field_name(true)
            .stringify_64_bit_integers(false);
        answer
            .serialize_with_options(serde_json::value::Serializer, &options)
            .map_err(|error| unreadable(&error))
    }

    fn message(&self, name: &str) -> Result<MessageDescriptor, Failure> {
        self.pool.get_message_by_name(name).ok_or_else(|| {
            Failure::new(format!(
                "{} does not describe the message {name:?}: it was built without its contract",
                self.description.name
            ))
        })
    }

    /// A message's fields, as a person writes them in JSON.
    pub(super) fn shape(&self, message: &str) -> String {
        let Some(descriptor) = self.pool.get_message_by_name(message) else { return message.to_owned() };
        let mut text = format!("{message} {{\n");
        for field in descriptor.fields() {
            let repeated = if field.is_list() { "list of " } else { "" };
            let one_of = field.containing_oneof().filter(|oneof| !oneof.is_synthetic());
            let note = one_of.map_or(String::new(), |oneof| format!("  (one of {})", oneof.name()));
            text.push_str(&format!("  {}: {repeated}{}{note}\n", field.name(), kind(&field.kind())));
        }
        text.push('}');
        text
    }
}

fn kind(kind: &Kind) -> String {
    match kind {
        Kind::Message(message) => message.full_name().to_owned(),
        Kind::Enum(one) => one.values().map(|value| value.name().to_owned()).collect::<Vec<_>>().join(" | "),
        Kind::Bytes => "bytes in base64".to_owned(),
        other => format!("{other:?}"),
    }
}

/// How a method's messages go, in words.
pub(super) fn interaction(interaction: Interaction) -> &'static str {
    match interaction {
        Interaction::Unspecified | Interaction::RequestResponse => "request, answer",
        Interaction::FireAndForget => "request, no answer",
        Interaction::RequestStream => "request, stream of answers",
        Interaction::RequestChannel => "stream of requests, stream of answers",
    }
}
