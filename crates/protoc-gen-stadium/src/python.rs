//! Python: a module beside protoc's `_pb2`, with a class of constants for each service.
//!
//! Types are inferred: `typing.Final` gives a checker the class that `stadium.unary` and its like return.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;

use heck::ToUpperCamelCase as _;
use stadium_rpc_build::contract::{Interaction, Method, Service};
use stadium_rpc_build::prost_reflect::MessageDescriptor;

use crate::comments;
use crate::literal::{self, Escape};
use crate::plugin::GeneratedFile;
use crate::unit::{self, Unit};

const KEYWORDS: [&str; 35] = [
    "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue", "def",
    "del", "elif", "else", "except", "finally", "for", "from", "global", "if", "import", "in", "is",
    "lambda", "nonlocal", "not", "or", "pass", "raise", "return", "try", "while", "with", "yield",
];

/// The module of a file. An error is two services that become one class.
pub(crate) fn generate(unit: &Unit) -> Result<GeneratedFile, String> {
    let mut classes: HashMap<String, &str> = HashMap::new();
    for service in &unit.services {
        let full_name = service.descriptor.full_name();
        if let Some(other) = classes.insert(class(service), full_name) {
            let file = unit.file.name();
            return Err(format!("{file}: {full_name} and {other} become one class, {}", class(service)));
        }
    }
    let mut text = String::new();
    module(unit, &mut text).expect("a string takes what is written to it");
    let path = module_name(unit.file.name(), "_stadium").replace('.', "/");
    Ok(GeneratedFile::new(path + ".py", text))
}

fn class(service: &Service) -> String {
    let name = service.descriptor.name().to_upper_camel_case();
    if KEYWORDS.contains(&name.as_str()) { name + "_" } else { name }
}

/// The module of a file, as protoc's generator names it.
fn module_name(file: &str, suffix: &str) -> String {
    unit::stem(file).replace('-', "_").replace('/', ".") + suffix
}

fn module(unit: &Unit, out: &mut String) -> std::fmt::Result {
    let imports = Imports::new(unit);
    writeln!(out, "\"\"\"{}\"\"\"\n", unit.headline())?;
    imports.write(out)?;
    for service in &unit.services {
        writeln!(out, "\n\nclass {}:", class(service))?;
        document(unit, service.descriptor.path(), unit::about_service(service), out)?;
        writeln!(out, "\n    NAME: typing.Final = {:?}\n    \"\"\"{}\"\"\"", service.name, unit::NAME)?;
        writeln!(
            out,
            "    VERSION: typing.Final = {:?}\n    \"\"\"{}\"\"\"",
            service.version,
            unit::VERSION
        )?;
        for method in &service.methods {
            constant(unit, method, &imports, out)?;
        }
        writeln!(out, "    FILE_DESCRIPTOR_SET: typing.Final = (")?;
        for line in literal::lines(&service.file_descriptor_set, Escape::Hexadecimal, 80) {
            writeln!(out, "        b\"{line}\"")?;
        }
        writeln!(out, "    )\n    \"\"\"{}\"\"\"", unit::FILE_DESCRIPTOR_SET)?;
    }
    Ok(())
}

fn constant(unit: &Unit, method: &Method, imports: &Imports, out: &mut String) -> std::fmt::Result {
    let constructor = match method.interaction {
        Interaction::Unary => "unary",
        Interaction::OneWay => "one_way",
        Interaction::Stream => "stream",
        Interaction::Channel => "channel",
    };
    let mut arguments = vec![format!("{:?}", method.route), imports.message(&method.descriptor.input())];
    arguments.extend(unit::answer(method).map(|answer| imports.message(&answer)));
    if method.idempotent {
        arguments.push("idempotent=True".to_owned());
    }
    writeln!(out, "    {}: typing.Final = stadium.{constructor}(", method.constant)?;
    writeln!(out, "        {}\n    )", arguments.join(", "))?;
    document(unit, method.descriptor.path(), unit::about_method(method), out)
}

/// A docstring: behind `class`, and behind a constant, where documentation tools look for it.
fn document(unit: &Unit, path: &[i32], last: String, out: &mut String) -> std::fmt::Result {
    let lines = comments::with_last(&unit.file, path, last);
    let mut marks = "\"\"\"";
    for line in &lines {
        match (marks, line.as_str()) {
            ("", "") => writeln!(out)?,
            (marks, line) => writeln!(out, "    {marks}{}", escape(line))?,
        }
        marks = "";
    }
    match lines.len() {
        1 => out.insert_str(out.len() - 1, "\"\"\""),
        _ => writeln!(out, "    \"\"\"")?,
    }
    Ok(())
}

/// Text inside a docstring, which it can neither end nor escape.
fn escape(line: &str) -> String {
    line.replace('\\', "\\\\").replace("\"\"", "\"\\\"")
}

/// The modules of the messages, and their names in this one.
struct Imports {
    names: BTreeMap<String, String>,
}

impl Imports {
    fn new(unit: &Unit) -> Self {
        let modules = unit.messages().map(|message| module_name(message.parent_file().name(), "_pb2"));
        let mut names: BTreeMap<String, String> = modules.map(|module| (module, String::new())).collect();
        let mut uses: HashMap<String, usize> = HashMap::new();
        for module in names.keys() {
            *uses.entry(last(module).to_owned()).or_default() += 1;
        }
        for (module, name) in &mut names {
            *name = match uses.get(last(module)) {
                Some(1) => last(module).to_owned(),
                // As protoc does: no two modules become one name.
                _ => module.replace('_', "__").replace('.', "_dot_"),
            };
        }
        Self { names }
    }

    fn write(&self, out: &mut String) -> std::fmt::Result {
        let needs_importlib = |module: &str| module.split('.').any(|part| KEYWORDS.contains(&part));
        if self.names.keys().any(|module| needs_importlib(module)) {
            writeln!(out, "import importlib")?;
        }
        writeln!(out, "import typing\n\nimport stadium\n")?;
        for (module, name) in &self.names {
            match module.rsplit_once('.') {
                _ if needs_importlib(module) => {
                    writeln!(out, "{name} = importlib.import_module({module:?})")?
                }
                None => writeln!(out, "import {module}")?,
                Some((package, last)) if last == name => writeln!(out, "from {package} import {last}")?,
                Some((package, last)) => writeln!(out, "from {package} import {last} as {name}")?,
            }
        }
        Ok(())
    }

    /// The class of a message. One that is named by a keyword is an attribute that no syntax can name.
    fn message(&self, message: &MessageDescriptor) -> String {
        let module = module_name(message.parent_file().name(), "_pb2");
        let mut text = self.names.get(&module).expect("every message's module is imported").clone();
        for name in unit::nested_names(message) {
            text = match KEYWORDS.contains(&name.as_str()) {
                true => format!("getattr({text}, {name:?})"),
                false => format!("{text}.{name}"),
            };
        }
        text
    }
}

fn last(module: &str) -> &str {
    module.rsplit('.').next().unwrap_or(module)
}

#[cfg(test)]
mod tests {
    use super::{escape, module_name};

    #[test]
    fn modules_are_named_as_protoc_names_them() {
        assert_eq!(module_name("geo.proto", "_pb2"), "geo_pb2");
        assert_eq!(module_name("a-b/geo-store.proto", "_stadium"), "a_b.geo_store_stadium");
    }

    #[test]
    fn a_docstring_cannot_be_ended() {
        assert_eq!(escape(r#"a\b """"#), r#"a\\b "\"""#);
        assert!(!escape(&"\"".repeat(9)).contains("\"\"\""));
    }
}
