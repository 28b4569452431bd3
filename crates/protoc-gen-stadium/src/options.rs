//! The plugin's parameter: the language, and how TypeScript names the modules that it imports.

/// A language that methods are generated for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Language {
    Java,
    Python,
    Cpp,
    TypeScript,
}

/// The end of the path of an imported module, as `import_extension` of protoc-gen-es.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ImportExtension {
    /// `./geo_pb`, for bundlers.
    None,
    /// `./geo_pb.js`, for Node.js and browsers.
    Js,
    /// `./geo_pb.ts`, for runtimes that strip types.
    Ts,
}

impl ImportExtension {
    /// The extension of the file, behind its path.
    pub(crate) fn suffix(self) -> &'static str {
        match self {
            Self::None => "",
            Self::Js => ".js",
            Self::Ts => ".ts",
        }
    }
}

/// The parameter, read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Options {
    pub(crate) language: Language,
    /// For TypeScript only.
    pub(crate) import_extension: ImportExtension,
}

impl Options {
    /// Reads `--stadium_opt` and the part of `--stadium_out` before the colon, between which protoc puts a comma.
    pub(crate) fn parse(parameter: &str) -> Result<Self, String> {
        let mut language = None;
        let mut import_extension = None;
        for option in parameter.split(',').map(str::trim).filter(|option| !option.is_empty()) {
            let named = match option {
                "java" => Language::Java,
                "python" => Language::Python,
                "cpp" => Language::Cpp,
                "ts" => Language::TypeScript,
                _ => {
                    import_extension = Some(match option.strip_prefix("import_extension=") {
                        Some("none") => ImportExtension::None,
                        Some("js") => ImportExtension::Js,
                        Some("ts") => ImportExtension::Ts,
                        _ => return Err(format!("unknown parameter {option:?}; {EXPECTED}")),
                    });
                    continue;
                }
            };
            if language.is_some_and(|earlier| earlier != named) {
                return Err(format!("the parameter {parameter:?} names two languages; {EXPECTED}"));
            }
            language = Some(named);
        }
        let Some(language) = language else {
            return Err(format!("the parameter names no language; {EXPECTED}"));
        };
        if import_extension.is_some() && language != Language::TypeScript {
            return Err(format!("the parameter {parameter:?} has import_extension, which is for ts only"));
        }
        Ok(Self { language, import_extension: import_extension.unwrap_or(ImportExtension::None) })
    }
}

const EXPECTED: &str =
    "give java, python, cpp or ts[,import_extension=none|js|ts], as in --stadium_out=java:DIR";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parameter_names_one_language() {
        let read = |text| Options::parse(text).map(|options| (options.language, options.import_extension));
        let rows = [
            ("java", Language::Java, ImportExtension::None),
            ("python", Language::Python, ImportExtension::None),
            ("cpp,", Language::Cpp, ImportExtension::None),
            ("ts", Language::TypeScript, ImportExtension::None),
            // --stadium_opt and --stadium_out may both have it.
            ("java,java", Language::Java, ImportExtension::None),
            ("import_extension=js, ts", Language::TypeScript, ImportExtension::Js),
            ("ts,import_extension=ts", Language::TypeScript, ImportExtension::Ts),
        ];
        for (text, language, extension) in rows {
            assert_eq!(read(text), Ok((language, extension)), "{text}");
        }
        for (text, why) in [
            ("", "names no language"),
            ("import_extension=js", "names no language"),
            ("kotlin", "unknown parameter \"kotlin\""),
            ("Java", "unknown parameter \"Java\""),
            ("ts,import_extension=mjs", "unknown parameter \"import_extension=mjs\""),
            ("java,ts", "names two languages"),
            ("java,import_extension=js", "for ts only"),
        ] {
            let error = read(text).expect_err(text);
            assert!(error.contains(why), "{text}: {error}");
        }
    }
}
