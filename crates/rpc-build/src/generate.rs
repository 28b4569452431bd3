//! Writes the module of constants that stands beside a package's messages.
//!
//! prost calls this once for each service, with types as Rust names them; what the names are on the wire was
//! decided before, see [`crate::contract`].

use std::collections::HashMap;
use std::fmt::Write as _;

use prost_build::{Comments, Method, Service, ServiceGenerator};

use crate::contract::{self, Interaction};

/// What prost knows by name only: types that need no path.
const PRIMITIVES: [&str; 8] = ["()", "bool", "f32", "f64", "i32", "i64", "u32", "u64"];

/// Generates the constants of every service in `services`, by full name.
pub(crate) struct Generator {
    pub(crate) services: HashMap<String, contract::Service>,
}

impl ServiceGenerator for Generator {
    fn generate(&mut self, service: Service, out: &mut String) {
        let full_name = match service.package.as_str() {
            "" => service.proto_name.clone(),
            package => format!("{package}.{}", service.proto_name),
        };
        let contract = self.services.get(&full_name).expect("every service of the files was looked at");
        module(&service, contract, out).expect("a string takes what is written to it");
    }
}

fn module(service: &Service, contract: &contract::Service, out: &mut String) -> std::fmt::Result {
    let contract::Service { name, version, methods, file_descriptor_set, .. } = contract;
    document(
        &service.comments,
        0,
        &format!("The service `{name}`, version {version}: its methods and its name."),
        out,
    )?;
    writeln!(out, "pub mod {name} {{")?;
    writeln!(out, "    /// The first half of every route, and the name in discovery's tree.")?;
    writeln!(out, "    pub const NAME: &str = {name:?};")?;
    writeln!(out, "    /// The version in discovery's tree.")?;
    writeln!(out, "    pub const VERSION: &str = {version:?};")?;
    for method in &service.methods {
        let mut looked_at = methods.iter();
        let contract = looked_at
            .find(|contract| contract.descriptor.name() == method.proto_name)
            .expect("every method of the service was looked at");
        constant(method, contract, out)?;
    }
    writeln!(
        out,
        "    /// An encoded `google.protobuf.FileDescriptorSet`: what `describe` tells generic clients."
    )?;
    writeln!(out, "    pub const FILE_DESCRIPTOR_SET: &[u8] = b\"{}\";", file_descriptor_set.escape_ascii())?;
    writeln!(out, "}}")
}

fn constant(method: &Method, contract: &contract::Method, out: &mut String) -> std::fmt::Result {
    let contract::Method { route, constant, interaction, idempotent, .. } = contract;
    document(&method.comments, 1, &format!("Route `{route}`."), out)?;
    let types = format!("::stadium_rpc::Method<{}, {}>", path(&method.input_type), path(&method.output_type));
    let constructor = match interaction {
        Interaction::Unary => "unary",
        Interaction::OneWay => "one_way",
        Interaction::Stream => "stream",
        Interaction::Channel => "channel",
    };
    let idempotent = if *idempotent { ".idempotent()" } else { "" };
    writeln!(out, "    pub const {constant}: {types} =")?;
    writeln!(out, "        ::stadium_rpc::Method::{constructor}({route:?}){idempotent};")
}

/// The contract's comments, and a last line of ours.
fn document(comments: &Comments, indent: u8, last: &str, out: &mut String) -> std::fmt::Result {
    let margin = "    ".repeat(indent.into());
    let spoken = !comments.leading.is_empty() || !comments.trailing.is_empty();
    comments.append_with_indent(indent, out);
    if spoken {
        writeln!(out, "{margin}///")?;
    }
    writeln!(out, "{margin}/// {last}")
}

/// A type as seen from the package's module, seen from a module inside it.
fn path(from_package: &str) -> String {
    if from_package.starts_with("::") || PRIMITIVES.contains(&from_package) {
        from_package.to_owned()
    } else {
        format!("super::{from_package}")
    }
}
