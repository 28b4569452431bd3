//! C++: a header beside protoc's `.pb.h`, with a namespace of constants for each service.
//!
//! Types are written from the global namespace: a namespace of a service may have the name of a package.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use stadium_rpc_build::contract::{Interaction, Method, Service};
use stadium_rpc_build::prost_reflect::{FileDescriptor, MessageDescriptor};

use crate::comments;
use crate::literal::{self, Escape};
use crate::plugin::GeneratedFile;
use crate::unit::{self, Unit};

/// The keywords of C++20, and NULL. protoc puts an underscore behind them, and so does this generator.
const KEYWORDS: &str = "\
    NULL alignas alignof and and_eq asm auto bitand bitor bool break case catch char char16_t char32_t char8_t class \
    co_await co_return co_yield compl concept const const_cast consteval constexpr constinit continue decltype default \
    delete do double dynamic_cast else enum explicit export extern false float for friend goto if inline int long \
    mutable namespace new noexcept not not_eq nullptr operator or or_eq private protected public register \
    reinterpret_cast requires return short signed sizeof static static_assert static_cast struct switch template this \
    thread_local throw true try typedef typeid typename union unsigned using virtual void volatile wchar_t while xor \
    xor_eq";

/// More words that names of ours avoid: macros of common headers and of the GNU extensions, and words that begin a
/// line of modules.
const AVOIDED: &str = "assert errno i386 import linux major minor module stderr stdin stdout unix";

/// The header of a file.
pub(crate) fn generate(unit: &Unit) -> GeneratedFile {
    let mut text = String::new();
    header(unit, &mut text).expect("a string takes what is written to it");
    GeneratedFile::new(format!("{}.stadium.hpp", unit::stem(unit.file.name())), text)
}

fn header(unit: &Unit, out: &mut String) -> std::fmt::Result {
    writeln!(out, "// {}\n#pragma once\n", unit.headline())?;
    writeln!(out, "#include <string_view>\n\n#include <stadium/method.hpp>\n")?;
    let messages = unit.messages().map(|message| message.parent_file());
    let files = messages.chain([unit.file.clone()]).map(|file| unit::stem(file.name()).to_owned());
    for file in files.collect::<BTreeSet<_>>() {
        writeln!(out, "#include \"{file}.pb.h\"")?;
    }
    let package = namespaces(unit.file.package_name()).join("::");
    if !package.is_empty() {
        writeln!(out, "\nnamespace {package} {{")?;
    }
    for service in &unit.services {
        namespace(unit, service, out)?;
    }
    if !package.is_empty() {
        writeln!(out, "\n}}  // namespace {package}")?;
    }
    Ok(())
}

fn namespace(unit: &Unit, service: &Service, out: &mut String) -> std::fmt::Result {
    let mut name = identifier(&service.name);
    if is_message(&unit.file, &name) {
        name.push('_');
    }
    writeln!(out)?;
    document(unit, service.descriptor.path(), unit::about_service(service), out)?;
    writeln!(out, "namespace {name} {{\n\n/// {}", unit::NAME)?;
    writeln!(out, "inline constexpr const char* name = {:?};\n\n/// {}", service.name, unit::VERSION)?;
    writeln!(out, "inline constexpr const char* version = {:?};\n", service.version)?;
    for method in &service.methods {
        constant(unit, method, out)?;
    }
    let bytes = &service.file_descriptor_set;
    writeln!(out, "/// {}", unit::FILE_DESCRIPTOR_SET)?;
    writeln!(out, "inline constexpr ::std::string_view file_descriptor_set{{")?;
    let lines = literal::lines(bytes, Escape::Octal, 80);
    let lines: Vec<String> = lines.iter().map(|line| format!("    \"{line}\"")).collect();
    writeln!(out, "{},\n    {}}};\n\n}}  // namespace {name}", lines.join("\n"), bytes.len())
}

fn constant(unit: &Unit, method: &Method, out: &mut String) -> std::fmt::Result {
    let constructor = match method.interaction {
        Interaction::Unary => "unary",
        Interaction::OneWay => "one_way",
        Interaction::Stream => "stream",
        Interaction::Channel => "channel",
    };
    let messages = [Some(method.descriptor.input()), unit::answer(method)];
    let types: Vec<String> = messages.iter().flatten().map(message).collect();
    let idempotent = if method.idempotent { ".idempotent()" } else { "" };
    let name = identifier(&method.constant.to_ascii_lowercase());
    document(unit, method.descriptor.path(), unit::about_method(method), out)?;
    writeln!(out, "inline constexpr auto {name} =\n    ::stadium::{constructor}<{}>(", types.join(", "))?;
    writeln!(out, "        {:?}){idempotent};\n", method.route)
}

fn document(unit: &Unit, path: &[i32], last: String, out: &mut String) -> std::fmt::Result {
    for line in comments::with_last(&unit.file, path, last) {
        match line.as_str() {
            "" => writeln!(out, "///")?,
            // It would continue the comment on the next line.
            line if line.ends_with('\\') => writeln!(out, "/// {line} //")?,
            line => writeln!(out, "/// {line}")?,
        }
    }
    Ok(())
}

/// The class of a message: protoc joins nested names by underscores.
fn message(message: &MessageDescriptor) -> String {
    let mut parts = namespaces(message.parent_file().package_name());
    let mut class = String::new();
    for name in unit::nested_names(message) {
        class = keyword_safe(&if class.is_empty() { name } else { format!("{class}_{name}") });
    }
    parts.push(class);
    format!("::{}", parts.join("::"))
}

fn namespaces(package: &str) -> Vec<String> {
    package.split('.').filter(|part| !part.is_empty()).map(keyword_safe).collect()
}

/// True if protoc gives the name to a class or enum in the file's namespace.
fn is_message(file: &FileDescriptor, name: &str) -> bool {
    file.messages().any(|declared| declared.name() == name)
        || file.enums().any(|declared| declared.name() == name)
}

fn keyword_safe(name: &str) -> String {
    if has_word(KEYWORDS, name) { format!("{name}_") } else { name.to_owned() }
}

/// A name of ours.
fn identifier(name: &str) -> String {
    if has_word(AVOIDED, name) { format!("{name}_") } else { keyword_safe(name) }
}

fn has_word(words: &str, name: &str) -> bool {
    words.split_whitespace().any(|word| word == name)
}

#[cfg(test)]
mod tests {
    use super::{identifier, keyword_safe};

    #[test]
    fn words_of_the_language_get_an_underscore() {
        for (name, safe) in
            [("new", "new_"), ("news", "news"), ("xor_eq", "xor_eq_"), ("co_await", "co_await_")]
        {
            assert_eq!(identifier(name), safe);
            assert_eq!(keyword_safe(name), safe);
        }
        assert_eq!(identifier("errno"), "errno_");
        assert_eq!(keyword_safe("errno"), "errno");
    }
}
