//! A plugin of protoc: for each method of a service a constant in Java, Python, C++ or TypeScript.
//!
//! protoc writes a `CodeGeneratorRequest` to stdin and reads a `CodeGeneratorResponse` from stdout. An error of
//! the contracts or the options is an error of the response, which protoc shows. Input that is no request gives
//! an error on stderr and exit code 1. Routes and refusals are those of [`stadium_rpc_build::contract`].

mod comments;
mod cpp;
mod java;
mod literal;
mod options;
mod plugin;
mod python;
mod typescript;
mod typescript_names;
mod unit;

use std::collections::HashMap;
use std::io::{self, IsTerminal as _, Read as _, Write as _};
use std::process::ExitCode;

use prost::Message as _;
use stadium_rpc_build::contract::Service;
use stadium_rpc_build::prost_reflect::{DescriptorPool, FileDescriptor};

use options::{Language, Options};
use plugin::{CodeGeneratorRequest, CodeGeneratorResponse, FEATURE_PROTO3_OPTIONAL, GeneratedFile};
use unit::Unit;

const USAGE: &str = "\
A plugin of protoc: writes the methods of Stadium's services as constants.

Usage: protoc -I DIR --stadium_out=LANGUAGE:DIR FILE.proto...
       LANGUAGE is java, python, cpp or ts[,import_extension=none|js|ts]

protoc finds the plugin on the PATH, or by --plugin=PATH/protoc-gen-stadium.
";

fn main() -> ExitCode {
    match std::env::args().nth(1).as_deref() {
        None if io::stdin().is_terminal() => eprint!("{USAGE}"),
        None => match answer() {
            Ok(()) => return ExitCode::SUCCESS,
            Err(why) => eprintln!("protoc-gen-stadium: {why}"),
        },
        Some("--help" | "-h") => {
            print!("{USAGE}");
            return ExitCode::SUCCESS;
        }
        Some("--version" | "-V") => {
            println!("protoc-gen-stadium {}", env!("CARGO_PKG_VERSION"));
            return ExitCode::SUCCESS;
        }
        Some(other) => eprint!("protoc-gen-stadium: unknown argument {other:?}\n\n{USAGE}"),
    }
    ExitCode::FAILURE
}

/// Reads the request and writes the response. An error is one that no response can report.
fn answer() -> Result<(), String> {
    let mut bytes = Vec::new();
    io::stdin().read_to_end(&mut bytes).map_err(|error| format!("cannot read stdin: {error}"))?;
    let request = CodeGeneratorRequest::decode(bytes.as_slice())
        .map_err(|error| format!("stdin is no CodeGeneratorRequest: {error}"))?;
    let files = files_to_generate(&request)?;
    let mut response =
        CodeGeneratorResponse { supported_features: Some(FEATURE_PROTO3_OPTIONAL), ..Default::default() };
    match generate(request.parameter.as_deref().unwrap_or_default(), &files) {
        Ok(generated) => response.file = generated,
        Err(error) => response.error = Some(error),
    }
    io::stdout().write_all(&response.encode_to_vec()).map_err(|error| format!("cannot write stdout: {error}"))
}

/// The files that protoc was asked for, linked with what they import.
fn files_to_generate(request: &CodeGeneratorRequest) -> Result<Vec<FileDescriptor>, String> {
    if request.file_to_generate.is_empty() {
        return Err("the request names no file".to_owned());
    }
    let mut pool = DescriptorPool::new();
    // protoc lists imports before the files that import them.
    for file in &request.proto_file {
        pool.decode_file_descriptor_proto(file.as_slice())
            .map_err(|error| format!("the request has a file that is not well-formed: {error}"))?;
    }
    let find = |name: &String| {
        pool.get_file_by_name(name).ok_or_else(|| format!("the request asks for {name} and does not have it"))
    };
    request.file_to_generate.iter().map(find).collect()
}

/// The generated files, or the lines that protoc shows.
fn generate(parameter: &str, files: &[FileDescriptor]) -> Result<Vec<GeneratedFile>, String> {
    let options = Options::parse(parameter)?;
    let mut generated = Vec::new();
    let mut refused = Vec::new();
    for unit in units(files)? {
        let one = match options.language {
            Language::Java => java::generate(&unit),
            Language::Python => python::generate(&unit).map(|file| vec![file]),
            Language::Cpp => Ok(vec![cpp::generate(&unit)]),
            Language::TypeScript => {
                typescript::generate(&unit, options.import_extension).map(|file| vec![file])
            }
        };
        match one {
            Ok(files) => generated.extend(files),
            Err(why) => refused.push(why),
        }
    }
    if refused.is_empty() { Ok(generated) } else { Err(refused.join("\n")) }
}

/// The files that have services. An error has a line for each service that is refused.
fn units(files: &[FileDescriptor]) -> Result<Vec<Unit>, String> {
    let mut units = Vec::new();
    let mut refused = Vec::new();
    let mut names: HashMap<(String, String), String> = HashMap::new();
    for file in files {
        let mut services = Vec::new();
        for descriptor in file.services() {
            let full_name = descriptor.full_name().to_owned();
            match Service::new(descriptor) {
                Err(why) => refused.push(why.to_string()),
                Ok(service) => {
                    let name = (file.package_name().to_owned(), service.name.clone());
                    if let Some(other) = names.insert(name, full_name.clone()) {
                        let file = file.name();
                        refused.push(format!("{file}: {full_name} has the same routes as {other}"));
                    }
                    services.push(service);
                }
            }
        }
        if !services.is_empty() {
            units.push(Unit { file: file.clone(), services });
        }
    }
    if refused.is_empty() { Ok(units) } else { Err(refused.join("\n")) }
}
