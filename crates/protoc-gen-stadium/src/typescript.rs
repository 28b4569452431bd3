//! TypeScript: a module beside protobuf-es's `_pb`, with an object of methods for each service.
//!
//! Methods have the types of protobuf-es 2's schemas. File descriptors are left out: browsers load this code, and
//! clients do not need them.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fmt::Write as _;

use heck::ToLowerCamelCase as _;
use stadium_rpc_build::contract::{Interaction, Method, Service};
use stadium_rpc_build::prost_reflect::MessageDescriptor;

use crate::comments;
use crate::options::ImportExtension;
use crate::plugin::GeneratedFile;
use crate::typescript_names::{is_reserved, module, schemas};
use crate::unit::{self, Unit};

/// The module of a file. An error is two methods that become one property.
pub(crate) fn generate(unit: &Unit, extension: ImportExtension) -> Result<GeneratedFile, String> {
    for service in &unit.services {
        let mut properties = HashSet::new();
        if let Some(method) = service.methods.iter().find(|method| !properties.insert(property(method))) {
            let (file, name) = (unit.file.name(), method.descriptor.full_name());
            return Err(format!("{file}: {name} becomes {}, as another method does", property(method)));
        }
    }
    let mut text = String::new();
    write(unit, extension, &mut text).expect("a string takes what is written to it");
    Ok(GeneratedFile::new(format!("{}_stadium.ts", unit::stem(unit.file.name())), text))
}

/// The name of a method in its service's object. Words of the language may be such a name.
fn property(method: &Method) -> String {
    let name = method.descriptor.name().to_lower_camel_case();
    if ["name", "version"].contains(&name.as_str()) { name + "_" } else { name }
}

fn constructor(method: &Method) -> &'static str {
    match method.interaction {
        Interaction::Unary => "unary",
        Interaction::OneWay => "oneWay",
        Interaction::Stream => "stream",
        Interaction::Channel => "channel",
    }
}

fn write(unit: &Unit, extension: ImportExtension, out: &mut String) -> std::fmt::Result {
    let imports = Imports::new(unit, extension);
    writeln!(out, "// {}\n", unit.headline())?;
    let constructors: BTreeSet<&str> = unit.methods().map(constructor).collect();
    if !constructors.is_empty() {
        let constructors = Vec::from_iter(constructors).join(", ");
        writeln!(out, "import {{ {constructors} }} from \"@stadium/client/rpc\";")?;
    }
    imports.write(out)?;
    let mut taken: HashSet<String> =
        ["unary", "oneWay", "stream", "channel"].map(str::to_owned).into_iter().collect();
    taken.extend(imports.names.values().cloned());
    for service in &unit.services {
        object(unit, service, &imports, &mut taken, out)?;
    }
    Ok(())
}

fn object(
    unit: &Unit,
    service: &Service,
    imports: &Imports,
    taken: &mut HashSet<String>,
    out: &mut String,
) -> std::fmt::Result {
    let mut name = service.descriptor.name().to_lower_camel_case();
    while is_reserved(&name) || !taken.insert(name.clone()) {
        name.push('_');
    }
    writeln!(out)?;
    document(unit, service.descriptor.path(), unit::about_service(service), "", out)?;
    writeln!(out, "export const {name} = {{")?;
    writeln!(out, "  /** {} */\n  name: {:?},", unit::NAME, service.name)?;
    writeln!(out, "  /** {} */\n  version: {:?},", unit::VERSION, service.version)?;
    for method in &service.methods {
        document(unit, method.descriptor.path(), unit::about_method(method), "  ", out)?;
        let messages = [Some(method.descriptor.input()), unit::answer(method)];
        let types: Vec<&str> = messages.iter().flatten().map(|message| imports.name(message)).collect();
        let types = types.join(", ");
        let options = if method.idempotent { ", { idempotent: true }" } else { "" };
        let (property, constructor) = (property(method), constructor(method));
        writeln!(out, "  {property}: {constructor}({:?}, {types}{options}),", method.route)?;
    }
    writeln!(out, "}} as const;")
}

fn document(unit: &Unit, path: &[i32], last: String, margin: &str, out: &mut String) -> std::fmt::Result {
    let lines: Vec<String> = comments::with_last(&unit.file, path, last)
        .into_iter()
        .map(|line| line.replace("*/", "*\\/"))
        .collect();
    if let [line] = lines.as_slice() {
        return writeln!(out, "{margin}/** {line} */");
    }
    writeln!(out, "{margin}/**")?;
    for line in lines {
        writeln!(out, "{}", format!("{margin} * {line}").trim_end())?;
    }
    writeln!(out, "{margin} */")
}

/// The schemas that a module imports.
struct Imports {
    /// Their names here, by module and name there.
    names: BTreeMap<(String, String), String>,
    /// Module and name there, by the message's full name.
    schemas: HashMap<String, (String, String)>,
}

impl Imports {
    fn new(unit: &Unit, extension: ImportExtension) -> Self {
        let mut schemas_of = HashMap::new();
        for message in unit.messages() {
            let file = message.parent_file();
            let schema = schemas(&file).remove(message.full_name()).expect("schemas are of all messages");
            let module = module(&file, &unit.file, extension.suffix());
            schemas_of.insert(message.full_name().to_owned(), (module, schema));
        }
        let mut names: BTreeMap<(String, String), String> = BTreeMap::new();
        let mut taken = HashSet::new();
        for (module, schema) in schemas_of.values().cloned().collect::<BTreeSet<_>>() {
            let mut name = schema.clone();
            while !taken.insert(name.clone()) {
                name.push('_');
            }
            names.insert((module, schema), name);
        }
        Self { names, schemas: schemas_of }
    }

    fn write(&self, out: &mut String) -> std::fmt::Result {
        let modules: BTreeSet<&String> = self.names.keys().map(|(module, _)| module).collect();
        for from in modules {
            let of_module = self.names.iter().filter(|((module, _), _)| module == from);
            let names: Vec<String> = of_module
                .map(|((_, schema), name)| match schema == name {
                    true => name.clone(),
                    false => format!("{schema} as {name}"),
                })
                .collect();
            writeln!(out, "import {{ {} }} from {from:?};", names.join(", "))?;
        }
        Ok(())
    }

    fn name(&self, message: &MessageDescriptor) -> &str {
        let imported = self.schemas.get(message.full_name()).expect("every message is imported");
        self.names.get(imported).expect("every import has a name")
    }
}
