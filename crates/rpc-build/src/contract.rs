//! Reads the files and decides what a service's methods are on the wire.
//!
//! Names become routes here and nowhere else: `service GeoStore { rpc Store }` is `geo_store/Store`. Rust
//! code is the generator's, see [`crate::generate`].

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::path::Path;

use heck::ToSnakeCase as _;
use protox::Compiler;
use protox::file::{ChainFileResolver, File, FileResolver, GoogleFileResolver, IncludeFileResolver};
use protox::prost::Message as _;
use protox::prost_reflect::{
    DescriptorPool, DynamicMessage, FileDescriptor, MethodDescriptor, ServiceDescriptor, Value,
};

/// The import that declares Stadium's own method options; it is found without an include path.
pub const OPTIONS_FILE: &str = "stadium/rpc/v1/options.proto";

/// The text behind [`OPTIONS_FILE`].
const OPTIONS: &str = include_str!("../../../proto/stadium/rpc/v1/options.proto");

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
pub(crate) enum Interaction {
    Unary,
    OneWay,
    Stream,
    Channel,
}

/// The data that the generator needs of a method and prost does not give it.
#[derive(Debug)]
pub(crate) struct MethodFacts {
    pub(crate) route: String,
    pub(crate) interaction: Interaction,
    pub(crate) idempotent: bool,
}

/// The data that the generator needs of a service and prost does not give it.
#[derive(Debug)]
pub(crate) struct ServiceFacts {
    /// The first half of every route, and the name in discovery's tree.
    pub(crate) name: String,
    /// From the package: `geo.v2` is version `2`, a package without one is version `1`.
    pub(crate) version: String,
    /// By the name in the contract.
    pub(crate) methods: HashMap<String, MethodFacts>,
    /// An encoded `FileDescriptorSet` of the service's file and everything it imports, without comments.
    pub(crate) descriptors: Vec<u8>,
}

/// Answers the one import that we bring along.
struct OptionsResolver;

impl FileResolver for OptionsResolver {
    fn open_file(&self, name: &str) -> Result<File, protox::Error> {
        if name == OPTIONS_FILE {
            File::from_source(name, OPTIONS)
        } else {
            Err(protox::Error::file_not_found(name))
        }
    }
}

/// Compiles the files and what they import.
pub(crate) fn open(
    files: &[impl AsRef<Path>],
    includes: &[impl AsRef<Path>],
) -> Result<Compiler, protox::Error> {
    let mut resolver = ChainFileResolver::new();
    for include in includes {
        resolver.add(IncludeFileResolver::new(include.as_ref().to_owned()));
    }
    resolver.add(GoogleFileResolver::new());
    resolver.add(OptionsResolver);
    let mut compiler = Compiler::with_file_resolver(resolver);
    compiler.include_source_info(true).include_imports(true).open_files(files)?;
    Ok(compiler)
}

/// Decides names, routes and interactions, or returns why the service cannot be served.
pub(crate) fn facts(service: &ServiceDescriptor) -> Result<ServiceFacts, Refused> {
    let name = service.name().to_snake_case();
    let mut methods = HashMap::new();
    for method in service.methods() {
        let facts = method_facts(&name, &method).map_err(|why| Refused {
            file: service.parent_file().name().to_owned(),
            method: method.full_name().to_owned(),
            why,
        })?;
        methods.insert(method.name().to_owned(), facts);
    }
    let descriptors = descriptors(&service.parent_file());
    Ok(ServiceFacts { version: version(service.package_name()), name, methods, descriptors })
}

fn method_facts(service: &str, method: &MethodDescriptor) -> Result<MethodFacts, &'static str> {
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
    let route = format!("{service}/{}", method.name());
    Ok(MethodFacts { route, interaction, idempotent: is_idempotent(method) })
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
fn descriptors(file: &FileDescriptor) -> Vec<u8> {
    let mut wanted = BTreeSet::new();
    collect(file, &mut wanted);
    let google = DescriptorPool::global();
    let known = |name| google.get_message_by_name(name).expect("the global pool has descriptor.proto");
    let file_type = known("google.protobuf.FileDescriptorProto");
    let mut files = Vec::new();
    // The pool lists files in the order of their imports.
    for file in file.parent_pool().files().filter(|file| wanted.contains(file.name())) {
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

fn collect(file: &FileDescriptor, wanted: &mut BTreeSet<String>) {
    if wanted.insert(file.name().to_owned()) {
        for import in file.dependencies() {
            collect(&import, wanted);
        }
    }
}
