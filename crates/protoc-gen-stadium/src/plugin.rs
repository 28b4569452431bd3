//! The messages between protoc and a plugin: google/protobuf/compiler/plugin.proto, without what nobody reads here.
//!
//! Files stay bytes: decoded into messages without extensions they would lose the options of Stadium's methods.

use prost::Message;

/// The plugin understands `optional` fields of proto3.
pub(crate) const FEATURE_PROTO3_OPTIONAL: u64 = 1;

/// The request of protoc.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct CodeGeneratorRequest {
    /// Files that were named on the command line.
    #[prost(string, repeated, tag = "1")]
    pub(crate) file_to_generate: Vec<String>,
    /// `--stadium_opt` and the part of `--stadium_out` before the colon, with a comma between them.
    #[prost(string, optional, tag = "2")]
    pub(crate) parameter: Option<String>,
    /// A `FileDescriptorProto` of each of these files and of what they import, imports first.
    #[prost(bytes = "vec", repeated, tag = "15")]
    pub(crate) proto_file: Vec<Vec<u8>>,
}

/// The plugin's response.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct CodeGeneratorResponse {
    /// An error of the files. protoc shows it and writes nothing.
    #[prost(string, optional, tag = "1")]
    pub(crate) error: Option<String>,
    /// Bits of the features that the plugin understands.
    #[prost(uint64, optional, tag = "2")]
    pub(crate) supported_features: Option<u64>,
    /// Files that protoc writes.
    #[prost(message, repeated, tag = "15")]
    pub(crate) file: Vec<GeneratedFile>,
}

/// A file that protoc writes.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct GeneratedFile {
    /// Path below the folder of `--stadium_out`, with `/`.
    #[prost(string, optional, tag = "1")]
    pub(crate) name: Option<String>,
    /// Its text.
    #[prost(string, optional, tag = "15")]
    pub(crate) content: Option<String>,
}

impl GeneratedFile {
    /// A file of that path and text.
    pub(crate) fn new(name: String, content: String) -> Self {
        Self { name: Some(name), content: Some(content) }
    }
}
