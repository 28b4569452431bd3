//! Java: a class of constants for each service, beside the classes that protoc generates for messages.
//!
//! Names of messages' classes follow protoc: the file's package and options decide where they are. Types of other
//! packages are written in full, so that no import can meet a message of the same name.

use std::fmt::Write as _;

use heck::ToUpperCamelCase as _;
use stadium_rpc_build::contract::{Interaction, Method, Service};
use stadium_rpc_build::prost_reflect::{EnumDescriptor, FileDescriptor, MessageDescriptor};

use crate::comments;
use crate::literal;
use crate::plugin::GeneratedFile;
use crate::unit::{self, Unit};

/// A class of each service. An error is a class name that the contract has given away.
pub(crate) fn generate(unit: &Unit) -> Result<Vec<GeneratedFile>, String> {
    unit.services.iter().map(|service| class(unit, service)).collect()
}

fn class(unit: &Unit, service: &Service) -> Result<GeneratedFile, String> {
    let class = format!("{}Methods", service.descriptor.name().to_upper_camel_case());
    let package = package(&unit.file);
    if is_taken(&unit.file, &class) {
        let (file, service) = (unit.file.name(), service.descriptor.full_name());
        return Err(format!(
            "{file}: {service} becomes the class {class}, which a message or enum has already"
        ));
    }
    let path = match package.as_str() {
        "" => format!("{class}.java"),
        package => format!("{}/{class}.java", package.replace('.', "/")),
    };
    let mut text = String::new();
    write(unit, service, &Class { name: &class, package: &package }, &mut text)
        .expect("a string takes what is written to it");
    Ok(GeneratedFile::new(path, text))
}

/// The class that is being written.
struct Class<'a> {
    name: &'a str,
    package: &'a str,
}

impl Class<'_> {
    /// A class as this class may name it.
    fn shorten(&self, full: &str) -> String {
        let in_package = match (self.package, full.rsplit_once('.')) {
            (package, Some(_)) => full.strip_prefix(package).and_then(|rest| rest.strip_prefix('.')),
            ("", None) => Some(full),
            _ => None,
        };
        match in_package {
            // Those mean something else here: imports and the class itself come first.
            Some(name) if ["Method", "Codec", self.name].contains(&first(name)) => full.to_owned(),
            Some(name) if first(name).starts_with(|c: char| c.is_ascii_uppercase()) => name.to_owned(),
            _ => full.to_owned(),
        }
    }
}

fn first(name: &str) -> &str {
    name.split('.').next().unwrap_or(name)
}

fn write(unit: &Unit, service: &Service, class: &Class<'_>, out: &mut String) -> std::fmt::Result {
    writeln!(out, "// {}", unit.headline())?;
    // Imports would hide messages of these names that have no package.
    let rpc = match class.package {
        "" => "io.stadium.rpc.",
        package => {
            writeln!(out, "package {package};\n")?;
            writeln!(out, "import io.stadium.rpc.Codec;\nimport io.stadium.rpc.Method;\n")?;
            ""
        }
    };
    document(unit, service.descriptor.path(), unit::about_service(service), "", out)?;
    writeln!(out, "public final class {} {{", class.name)?;
    writeln!(out, "    /** {} */", escape(unit::NAME))?;
    writeln!(out, "    public static final java.lang.String NAME = {:?};\n", service.name)?;
    writeln!(out, "    /** {} */", escape(unit::VERSION))?;
    writeln!(out, "    public static final java.lang.String VERSION = {:?};\n", service.version)?;
    for method in &service.methods {
        constant(unit, method, class, rpc, out)?;
    }
    descriptors(&service.file_descriptor_set, out)?;
    writeln!(out, "    private {}() {{}}\n}}", class.name)
}

fn constant(
    unit: &Unit,
    method: &Method,
    class: &Class<'_>,
    rpc: &str,
    out: &mut String,
) -> std::fmt::Result {
    let (constructor, has_answers) = match method.interaction {
        Interaction::Unary => ("unary", true),
        Interaction::OneWay => ("oneWay", false),
        Interaction::Stream => ("stream", true),
        Interaction::Channel => ("channel", true),
    };
    let request = class.shorten(&message(&method.descriptor.input()));
    let answer = match has_answers {
        true => class.shorten(&message(&method.descriptor.output())),
        false => "java.lang.Void".to_owned(),
    };
    let codec = |message: &str| format!("{rpc}Codec.protobuf({message}.parser())");
    let mut arguments = vec![format!("{:?}", method.route), codec(&request)];
    if has_answers {
        arguments.push(codec(&answer));
    }
    let arguments = arguments.join(",\n                    ");
    let idempotent = if method.idempotent { ".idempotent()" } else { "" };
    document(unit, method.descriptor.path(), unit::about_method(method), "    ", out)?;
    writeln!(out, "    public static final {rpc}Method<{request}, {answer}> {} =", method.constant)?;
    writeln!(out, "            {rpc}Method.{constructor}(")?;
    writeln!(out, "                    {arguments}){idempotent};\n")
}

/// The bytes in Base64: a class file holds at most 65,535 bytes of a constant.
fn descriptors(bytes: &[u8], out: &mut String) -> std::fmt::Result {
    const LINE: usize = 80;
    const CONSTANT_LINES: usize = 750;
    let text = literal::base64(bytes);
    let lines: Vec<&str> =
        (0..text.len()).step_by(LINE).map(|at| &text[at..text.len().min(at + LINE)]).collect();
    writeln!(out, "    private static final java.lang.String[] FILE_DESCRIPTOR_SET = {{")?;
    for constant in lines.chunks(CONSTANT_LINES) {
        let lines: Vec<String> = constant.iter().map(|line| format!("\"{line}\"")).collect();
        writeln!(out, "        {},", lines.join("\n                + "))?;
    }
    writeln!(out, "    }};\n")?;
    writeln!(out, "    /**\n     * {}\n     *", escape(unit::FILE_DESCRIPTOR_SET))?;
    writeln!(out, "     * @return the bytes, which the caller may change\n     */")?;
    writeln!(out, "    public static byte[] fileDescriptorSet() {{")?;
    writeln!(out, "        return java.util.Base64.getDecoder()")?;
    writeln!(out, "                .decode(java.lang.String.join(\"\", FILE_DESCRIPTOR_SET));\n    }}\n")
}

/// The contract's comments as Javadoc.
fn document(unit: &Unit, path: &[i32], last: String, margin: &str, out: &mut String) -> std::fmt::Result {
    let lines = comments::with_last(&unit.file, path, last);
    if let [line] = lines.as_slice() {
        return writeln!(out, "{margin}/** {} */", escape(line));
    }
    writeln!(out, "{margin}/**")?;
    let mut is_first = false;
    for line in lines {
        match line.as_str() {
            "" => writeln!(out, "{margin} *")?,
            line if is_first => writeln!(out, "{margin} * <p>{}", escape(line.trim_start()))?,
            line => writeln!(out, "{margin} * {}", escape(line))?,
        }
        is_first = line.is_empty();
    }
    writeln!(out, "{margin} */")
}

/// Text as text in Javadoc: no markup, no tags, no end of the comment, and no `\u002a`, which Java reads as `*`.
///
/// Code between backticks is written as such.
fn escape(line: &str) -> String {
    let mut text = String::new();
    let is_code = line.matches('`').count().is_multiple_of(2);
    let mut inside = false;
    for c in line.chars() {
        match c {
            '`' if is_code => {
                inside = !inside;
                text.push_str(if inside { "<code>" } else { "</code>" });
            }
            '&' => text.push_str("&amp;"),
            '<' => text.push_str("&lt;"),
            '>' => text.push_str("&gt;"),
            '@' => text.push_str("&#64;"),
            '\\' => text.push_str("&#92;"),
            // The end of a comment, and a beginning of which compilers warn.
            '/' if text.ends_with('*') => text.push_str("&#47;"),
            '*' if text.ends_with('/') => text.push_str("&#42;"),
            c => text.push(c),
        }
    }
    text
}

/// Where protoc puts the classes of a file's messages.
fn package(file: &FileDescriptor) -> String {
    let proto = file.file_descriptor_proto();
    let named = proto.options.as_ref().and_then(|options| options.java_package.clone());
    named.unwrap_or_else(|| file.package_name().to_owned())
}

fn has_multiple_files(file: &FileDescriptor) -> bool {
    let options = &file.file_descriptor_proto().options;
    options.as_ref().is_some_and(|options| options.java_multiple_files())
}

/// The class of a message, in full.
fn message(message: &MessageDescriptor) -> String {
    let file = message.parent_file();
    let mut parts = vec![package(&file)];
    parts.retain(|package| !package.is_empty());
    if !has_multiple_files(&file) {
        parts.push(outer_class(&file));
    }
    parts.extend(unit::nested_names(message));
    parts.join(".")
}

/// The class around a file's messages, as protoc names it.
fn outer_class(file: &FileDescriptor) -> String {
    let proto = file.file_descriptor_proto();
    if let Some(name) = proto.options.as_ref().and_then(|options| options.java_outer_classname.clone()) {
        return name;
    }
    let stem = unit::stem(file.name());
    let name = camel(stem.rsplit('/').next().unwrap_or(stem));
    if file_declares(file, &name) { name + "OuterClass" } else { name }
}

/// protoc's own camel case: a letter behind anything that is no letter is a capital; other letters stay.
fn camel(name: &str) -> String {
    let mut text = String::new();
    let mut capital = true;
    for c in name.chars() {
        match c {
            'a'..='z' if capital => text.push(c.to_ascii_uppercase()),
            'a'..='z' | 'A'..='Z' | '0'..='9' => text.push(c),
            _ => {}
        }
        capital = !c.is_ascii_alphabetic();
    }
    text
}

/// True if a message, an enum or a service of the file has the name, at any depth.
fn file_declares(file: &FileDescriptor, name: &str) -> bool {
    fn message_declares(message: &MessageDescriptor, name: &str) -> bool {
        message.name() == name
            || message.child_messages().any(|child| message_declares(&child, name))
            || message.child_enums().any(|child| child.name() == name)
    }
    file.messages().any(|message| message_declares(&message, name))
        || file.enums().any(|declared| declared.name() == name)
        || file.services().any(|declared| declared.name() == name)
}

/// True if protoc generates a class of that name in the file's package.
fn is_taken(file: &FileDescriptor, class: &str) -> bool {
    let is = |name: &str| name == class;
    outer_class(file) == class
        || has_multiple_files(file)
            && (file
                .messages()
                .any(|message| is(message.name()) || is(&format!("{}OrBuilder", message.name())))
                || file.enums().any(|declared: EnumDescriptor| is(declared.name())))
}

#[cfg(test)]
mod tests {
    use super::{camel, escape};

    #[test]
    fn outer_classes_are_named_as_protoc_names_them() {
        for (file, class) in [
            ("geo", "Geo"),
            ("geo_store", "GeoStore"),
            ("geo-store2b", "GeoStore2B"),
            ("GEO", "GEO"),
            ("2geo", "2Geo"),
        ] {
            assert_eq!(camel(file), class);
        }
    }

    #[test]
    fn javadoc_has_no_markup_of_the_contract() {
        assert_eq!(escape("a*/b /* <b>&@x"), "a*&#47;b /&#42; &lt;b&gt;&amp;&#64;x");
        assert_eq!(escape(r"\u002a/"), "&#92;u002a/");
        assert_eq!(escape("see `a<b>`"), "see <code>a&lt;b&gt;</code>");
        assert_eq!(escape("a ` b"), "a ` b");
        assert_eq!(escape("**/"), "**&#47;");
    }
}
