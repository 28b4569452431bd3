//! The names that protoc-gen-es 2 exports, and the modules that it exports them from.
//!
//! A name that a file has given away gets a `$` and a number; the order decides who keeps it. So all
//! names of a file are decided at once, in the order of that generator.

use std::collections::{HashMap, HashSet};

use stadium_rpc_build::prost_reflect::{FileDescriptor, MessageDescriptor};

use crate::unit;

/// Words that no exported name may be: they get a `$`.
const RESERVED: &str = "\
    break case catch class const continue debugger default delete do else export extends false finally for function if \
    import in instanceof new null return super switch this throw true try typeof var void while with yield \
    enum implements interface let package private protected public static \
    Object bigint number boolean string object globalThis Uint8Array Partial";

/// Files of google/protobuf that come with the runtime.
const WELL_KNOWN: &str = "compiler/plugin any descriptor duration empty field_mask struct timestamp wrappers";
/// Those that have a module of their own in it.
const RARELY_USED: &str = "\
    api c_sharp_features cpp_features cpp_file_options cpp_options go_features java_features json_enumvalue_options \
    json_options source_context type";

/// True if the word cannot name a constant.
pub(crate) fn is_reserved(name: &str) -> bool {
    has_word(RESERVED, name) || ["await", "arguments", "eval"].contains(&name)
}

/// The exported schema of each message of a file, by the message's full name.
pub(crate) fn schemas(file: &FileDescriptor) -> HashMap<String, String> {
    let mut types = Vec::new();
    for message in file.messages() {
        add(&message, &mut types);
    }
    types.extend(file.enums().map(|declared| (None, declared.full_name().to_owned())));

    let mut taken = HashSet::new();
    let package = file.package_name();
    let identifier = |full: &str| {
        let name = if package.is_empty() { full } else { &full[package.len() + 1..] };
        name.replace('.', "_")
    };
    for (_, full_name) in &types {
        take(&identifier(full_name), &mut taken);
    }
    let parts = unit::stem(file.name()).split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let described: Vec<&str> = parts.filter(|part| !part.is_empty()).collect();
    take(&format!("file_{}", described.join("_")), &mut taken);
    let mut schemas = HashMap::new();
    for (message, full_name) in types {
        let schema = take(&format!("{}Schema", identifier(&full_name)), &mut taken);
        if let Some(message) = message {
            schemas.insert(message.full_name().to_owned(), schema);
        }
    }
    schemas
}

/// A message, or an enum, by its full name; messages inside messages come before enums.
type Declared = (Option<MessageDescriptor>, String);

fn add(message: &MessageDescriptor, types: &mut Vec<Declared>) {
    if message.is_map_entry() {
        return;
    }
    types.push((Some(message.clone()), message.full_name().to_owned()));
    for child in message.child_messages() {
        add(&child, types);
    }
    types.extend(message.child_enums().map(|declared| (None, declared.full_name().to_owned())));
}

/// The first name that is free.
fn take(name: &str, taken: &mut HashSet<String>) -> String {
    for salt in 0.. {
        let salted = match salt {
            0 => name.to_owned(),
            1 => format!("{name}$"),
            salt => format!("{name}${}", salt - 1),
        };
        let safe = if has_word(RESERVED, &salted) { salted + "$" } else { salted };
        if taken.insert(safe.clone()) {
            return safe;
        }
    }
    unreachable!("a file has fewer names than there are numbers")
}

/// The module that exports a file's schemas, seen from the module of another file.
pub(crate) fn module(file: &FileDescriptor, seen_from: &FileDescriptor, suffix: &str) -> String {
    let stem = unit::stem(file.name());
    match stem.strip_prefix("google/protobuf/") {
        Some(name) if has_word(WELL_KNOWN, name) => return "@bufbuild/protobuf/wkt".to_owned(),
        Some(name) if has_word(RARELY_USED, name) => {
            return format!("@bufbuild/protobuf/wkt/google/protobuf/{name}_pb{suffix}");
        }
        _ => {}
    }
    let folders = |path: &str| path.split('/').map(str::to_owned).collect::<Vec<_>>();
    let (mut from, mut to) = (folders(seen_from.name()), folders(stem));
    from.pop();
    while !from.is_empty() && to.len() > 1 && from[0] == to[0] {
        from.remove(0);
        to.remove(0);
    }
    let up = if from.is_empty() { "./".to_owned() } else { "../".repeat(from.len()) };
    format!("{up}{}_pb{suffix}", to.join("/"))
}

fn has_word(words: &str, name: &str) -> bool {
    words.split_whitespace().any(|word| word == name)
}
