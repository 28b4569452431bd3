//! For a build script: `.proto` files become messages, and each method a constant of its types.
//!
//! [`compile`] needs no protoc. Messages are prost's; beside them every `service` becomes a module of
//! `stadium_rpc::Method` constants, so that a client and a server of one contract cannot disagree. A
//! contract that could not be served is refused here, with the file and the line where they are known.

use std::collections::HashMap;
use std::path::Path;
use std::{fmt, io};

use prost_build::Config;

pub mod contract;
mod files;
mod generate;

pub use contract::Refused;
pub use files::OPTIONS_FILE;
pub use prost_build;
pub use protox::prost_reflect;

/// Why a contract was not compiled. It prints the same with `{}` and `{:?}`, so that a build script may return it.
pub enum Error {
    /// The files hold something that is no Protocol Buffers, or import what is not there.
    Contract(protox::Error),
    /// The files are well-formed, but a service in them cannot be served.
    Refused(Refused),
    /// The generated code could not be written, or prost refused to generate it.
    Write(io::Error),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // Its Debug form is the one that has the file and the line.
            Self::Contract(error) => write!(f, "{error:?}"),
            Self::Refused(refused) => write!(f, "{refused}"),
            Self::Write(error) => write!(f, "cannot generate code: {error}"),
        }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Error {}

/// Compiles `files`, which lie under one of `includes`, into `OUT_DIR`: one Rust file for each package, named after it.
///
/// Cargo runs the build script again when one of the files or of what they import changes.
///
/// ```no_run
/// // build.rs
/// fn main() -> Result<(), stadium_rpc_build::Error> {
///     stadium_rpc_build::compile(&["proto/geo.proto"], &["proto"])
/// }
/// ```
///
/// ```text
/// // src/lib.rs: the file is named after the package
/// pub mod proto {
///     include!(concat!(env!("OUT_DIR"), "/geo.v1.rs"));
/// }
/// // proto::GeoEvent, proto::geo::STORE, proto::geo::NAME, proto::geo::VERSION, proto::geo::FILE_DESCRIPTOR_SET
/// ```
///
/// # Errors
/// See [`Error`]; nothing was written unless it is [`Error::Write`].
pub fn compile(files: &[impl AsRef<Path>], includes: &[impl AsRef<Path>]) -> Result<(), Error> {
    compile_with(&mut Config::new(), files, includes)
}

/// The same with prost's settings: attributes, `extern_path`, where the code goes. The service generator in `config` is replaced.
///
/// # Errors
/// As [`compile`].
pub fn compile_with(
    config: &mut Config,
    files: &[impl AsRef<Path>],
    includes: &[impl AsRef<Path>],
) -> Result<(), Error> {
    let compiler = files::open(files, includes).map_err(Error::Contract)?;
    let pool = compiler.descriptor_pool();
    let mut services = HashMap::new();
    for service in pool.services() {
        let name = service.full_name().to_owned();
        services.insert(name, contract::Service::new(service).map_err(Error::Refused)?);
    }
    for path in compiler.files().filter_map(protox::file::FileMetadata::path) {
        println!("cargo::rerun-if-changed={}", path.display());
    }
    config.service_generator(Box::new(generate::Generator { services }));
    config.compile_fds(compiler.file_descriptor_set()).map_err(Error::Write)
}
