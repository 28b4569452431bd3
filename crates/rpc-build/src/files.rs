//! Finds and compiles `.proto` files without protoc.

use std::path::Path;

use protox::Compiler;
use protox::file::{ChainFileResolver, File, FileResolver, GoogleFileResolver, IncludeFileResolver};

/// The import that declares Stadium's own method options; it is found without an include path.
pub const OPTIONS_FILE: &str = "stadium/rpc/v1/options.proto";

/// The text behind [`OPTIONS_FILE`].
const OPTIONS: &str = include_str!("../../../proto/stadium/rpc/v1/options.proto");

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
