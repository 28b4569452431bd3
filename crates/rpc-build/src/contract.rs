//! Decides what a service's methods are on the wire, for the generators of all languages.
//!
//! Names become routes here and nowhere else: `service GeoStore { rpc Store }` is `geo_store/Store`. A service is
//! read from its descriptors, whoever compiled them: `compile` of this crate, or protoc for a plugin.

use std::fmt;

use heck::{ToShoutySnakeCase as _, ToSnakeCase as _};
use protox::prost::Message as _;
use protox::prost_reflect::{
    DescriptorPool, DynamicMessage, FileDescriptor, MethodDescriptor, ServiceDescriptor, Value,
};

/// Constants beside those of the methods. The constant of a method of that name gets an underscore behind it.
const TAKEN: [&str; 3] = ["NAME", "VERSION", "FILE_DESCRIPTOR_SET"];

/// A service that cannot be served as its contract stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    file: String,
    method: String,
    why: &'static str,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} {}", self.file, self.method, self.why)
    }
}

/// How a method's messages go: the constructors of `stadium_rpc::Method`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interaction {
    /// One request, one answer.
    Unary,
    /// One request, no answer.
    OneWay,
    /// One request, a stream of answers.
    Stream,
    /// A stream of requests, a stream of answers.
    Channel,
}

/// A method as clients and services of every language have it.
#[derive(Clone, Debug)]
pub struct Method {
    /// Its types and options, and its name in the contract.
    pub descriptor: MethodDescriptor,
    /// `SERVICE/METHOD`.
    pub route: String,
    /// The name of its constant in capitals, which no other constant of the service has.
    pub constant: String,
    /// The interaction of its messages.
    pub interaction: Interaction,
    /// True if clients may try it again and hedge it.
    pub idempotent: bool,
}

/// A service as clients and services of every language have it.
#[derive(Clone, Debug)]
pub struct Service {
    /// Its file, and its name in the contract.
    pub descriptor: ServiceDescriptor,
    /// The first half of every route, and the name in discovery's tree.
    pub name: String,
    /// From the package: `geo.v2` is version `2`, a package without one is version `1`.
    pub version: String,
    /// In the order of the contract.
    pub methods: Vec<Method>,
    /// An encoded `FileDescriptorSet` of the service's file and everything it imports, without comments.
    pub file_descriptor_set: Vec<u8>,
}

impl Service {
    /// Decides names, routes and interactions.
    ///
    /// # Errors
    /// The first method for which the service cannot be served.
    pub fn new(descriptor: ServiceDescriptor) -> Result<Self, Refused> {
        let name = descriptor.name().to_snake_case();
        let mut methods: Vec<Method> = Vec::new();
        for method in descriptor.methods() {
            let refused = |why| Refused {
                file: descriptor.parent_file().name().to_owned(),
                method: method.full_name().to_owned(),
                why,
            };
            let method = read(&name, &method).map_err(refused)?;
            if methods.iter().any(|earlier| earlier.constant == method.constant) {
                return Err(refused("differs from another method in case or underscores only"));
            }
            methods.push(method);
        }
        let file_descriptor_set = file_descriptor_set(&descriptor.parent_file());
        Ok(Self {
            name,
            version: version(descriptor.package_name()),
            methods,
            file_descriptor_set,
            descriptor,
        })
    }
}

fn read(service: &str, method: &MethodDescriptor) -> Result<Method, &'static str> {
    if !method.name().starts_with(|first: char| first.is_ascii_uppercase()) {
        return Err(
            "starts with a small letter: such routes are the framework's traits; write it with a capital",
        );
    }
    let one_way = is_one_way(method);
    let streams = method.is_client_streaming() || method.is_server_streaming();
    if one_way && (streams || method.output().full_name() != "google.protobuf.Empty") {
        return Err("is one_way: it takes one message and returns google.protobuf.Empty");
    }
    let interaction = match (one_way, method.is_client_streaming(), method.is_server_streaming()) {
        (true, ..) => Interaction::OneWay,
        (false, false, false) => Interaction::Unary,
        (false, false, true) => Interaction::Stream,
        // One answer to many requests is a channel whose answers end after the first.
        (false, true, _) => Interaction::Channel,
    };
    let mut constant = method.name().to_shouty_snake_case();
    if TAKEN.contains(&constant.as_str()) {
        constant.push('_');
    }
    let route = format!("{service}/{}", method.name());
    let idempotent = is_idempotent(method);
    Ok(Method { descriptor: method.clone(), route, constant, interaction, idempotent })
}

/// `option (stadium.rpc.v1.one_way) = true;`
fn is_one_way(method: &MethodDescriptor) -> bool {
    let extension = method.parent_pool().get_extension_by_name("stadium.rpc.v1.one_way");
    extension.is_some_and(|option| method.options().get_extension(&option).as_bool() == Some(true))
}

/// `option idempotency_level = ...;` (google/protobuf/descriptor.proto): 1 is NO_SIDE_EFFECTS, 2 IDEMPOTENT.
fn is_idempotent(method: &MethodDescriptor) -> bool {
    let level =
        method.options().get_field_by_name("idempotency_level").and_then(|value| value.as_enum_number());
    matches!(level, Some(1 | 2))
}

/// `geo.v2` → `2`, `geo.v1beta1` → `1beta1`, `geo` → `1`.
fn version(package: &str) -> String {
    let last = package.rsplit('.').next().unwrap_or_default();
    match last.strip_prefix('v') {
        Some(version) if version.starts_with(|first: char| first.is_ascii_digit()) => version.to_owned(),
        _ => "1".to_owned(),
    }
}

/// The file and everything it imports, imports first, as generic clients want it; custom options stay, comments go.
fn file_descriptor_set(file: &FileDescriptor) -> Vec<u8> {
    let mut wanted = Vec::new();
    collect(file, &mut wanted);
    let google = DescriptorPool::global();
    let known = |name| google.get_message_by_name(name).expect("the global pool has descriptor.proto");
    let file_type = known("google.protobuf.FileDescriptorProto");
    let mut files = Vec::new();
    for file in wanted {
        let bytes = file.encode_to_vec();
        let mut message = DynamicMessage::decode(file_type.clone(), bytes.as_slice())
            .expect("the pool encodes well-formed files");
        message.clear_field_by_name("source_code_info");
        files.push(Value::Message(message));
    }
    let mut set = DynamicMessage::new(known("google.protobuf.FileDescriptorSet"));
    set.set_field_by_name("file", Value::List(files));
    set.encode_to_vec()
}

/// Adds a file behind its imports, which are in the order of its text: another one than that of the pool, so that it
/// does not depend on what else was compiled.
fn collect(file: &FileDescriptor, wanted: &mut Vec<FileDescriptor>) {
    if !wanted.contains(file) {
        for import in file.dependencies() {
            collect(&import, wanted);
        }
        wanted.push(file.clone());
    }
}
