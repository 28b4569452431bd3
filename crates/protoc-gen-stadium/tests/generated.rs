//! The output of protoc with this plugin, and its refusals.
//!
//! tests/expected has the generated text as it should be, without descriptors; `STADIUM_WRITE_EXPECTED=1` writes it
//! anew. That the text compiles, and that the descriptors are whole, is shown by the suites of the SDKs, which
//! generate code from the same contracts: sdk/jvm/rpc, sdk/python/tests, sdk/cpp/tests.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use stadium_rpc_build::compile_with;
use stadium_rpc_build::prost_build::Config;
use tempfile::TempDir;

const LANGUAGES: [&str; 4] = ["java", "python", "cpp", "ts"];

/// The contracts of the tests, and the one that a user would write.
const CONTRACTS: [&str; 4] =
    ["desk/v1beta1/order-desk.proto", "plain.proto", "import/lambda.proto", "geo.proto"];

fn crate_folder() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Runs protoc with the plugin; the folder has what it wrote.
fn protoc(includes: &[&Path], arguments: &[&str]) -> (Output, TempDir) {
    let out = tempfile::tempdir().expect("a folder for the generated code");
    let mut protoc = Command::new("protoc");
    protoc.arg(concat!("--plugin=", env!("CARGO_BIN_EXE_protoc-gen-stadium")));
    for include in includes {
        protoc.arg("-I").arg(include);
    }
    for argument in arguments {
        protoc.arg(argument.replace("OUT", out.path().to_str().expect("a path of letters")));
    }
    (protoc.output().expect("protoc starts: install protobuf-compiler"), out)
}

/// The files generated for a language, by path.
fn generated(language: &str, contracts: &[&str]) -> BTreeMap<String, String> {
    let options = crate_folder().join("../../proto");
    let geo = crate_folder().join("../../examples/geo/proto");
    let parameter = format!("--stadium_out={language}:OUT");
    let (output, out) = protoc(
        &[&crate_folder().join("tests/proto"), &options, &geo],
        &[&[parameter.as_str()], contracts].concat(),
    );
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    files(out.path())
}

/// All files below a folder, by path.
fn files(folder: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut folders = vec![PathBuf::new()];
    while let Some(inside) = folders.pop() {
        for entry in fs::read_dir(folder.join(&inside)).expect("the folder can be read") {
            let entry = entry.expect("the folder can be read");
            let path = inside.join(entry.file_name());
            if entry.path().is_dir() {
                folders.push(path);
            } else {
                let text = fs::read_to_string(entry.path()).expect("generated files are text");
                found.insert(path.to_str().expect("a path of letters").to_owned(), text);
            }
        }
    }
    found
}

/// Code without the bytes of descriptors, which differ between versions of protoc.
fn without_descriptors(code: &str) -> String {
    let begins = ["FILE_DESCRIPTOR_SET = {", "FILE_DESCRIPTOR_SET: typing.Final = (", "file_descriptor_set{"];
    let mut kept = String::new();
    let mut inside = false;
    for line in code.lines() {
        inside &= !(line.ends_with("};") || line == "    )");
        if !inside {
            kept.extend([line, "\n"]);
        }
        inside |= begins.iter().any(|begin| line.ends_with(begin));
    }
    // The end of the C++ literal has the number of bytes.
    let is_size =
        |line: &str| line.strip_suffix("};").is_some_and(|line| line.trim().parse::<usize>().is_ok());
    kept.lines()
        .map(|line| if is_size(line) { "    };" } else { line })
        .flat_map(|line| [line, "\n"])
        .collect()
}

#[test]
fn contracts_become_the_expected_text() {
    for language in LANGUAGES {
        let code = generated(language, &CONTRACTS);
        let folder = crate_folder().join("tests/expected").join(language);
        if std::env::var_os("STADIUM_WRITE_EXPECTED").is_some() {
            let _ = fs::remove_dir_all(&folder);
            for (path, text) in &code {
                let path = folder.join(format!("{path}.txt"));
                fs::create_dir_all(path.parent().expect("it is below the folder"))
                    .expect("folders can be made");
                fs::write(path, without_descriptors(text)).expect("the file can be written");
            }
        }
        let expected = files(&folder);
        let paths: Vec<String> = code.keys().map(|path| format!("{path}.txt")).collect();
        assert_eq!(paths, expected.keys().cloned().collect::<Vec<_>>(), "{language}");
        for (path, text) in &code {
            assert_eq!(without_descriptors(text), expected[&format!("{path}.txt")], "{language}: {path}");
        }
    }
}

#[test]
fn the_order_of_files_changes_nothing() {
    let mut reversed = CONTRACTS;
    reversed.reverse();
    for language in LANGUAGES {
        let (code, other) = (generated(language, &CONTRACTS), generated(language, &reversed));
        assert_eq!(code.len(), other.len(), "{language}");
        for (path, text) in &code {
            assert!(other[path] == *text, "{language}: {path}");
        }
    }
}

#[test]
fn a_file_without_services_generates_nothing() {
    for language in LANGUAGES {
        assert_eq!(generated(language, &["other/parts.proto"]), BTreeMap::new(), "{language}");
    }
}

#[test]
fn the_language_may_be_an_option_too() {
    let include = crate_folder().join("tests/proto");
    let (output, out) = protoc(&[&include], &["--stadium_out=OUT", "--stadium_opt=java", "plain.proto"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(files(out.path()).contains_key("desk/plain/PlainMethods.java"));

    let ts = ["--stadium_out=ts,import_extension=js:OUT", "plain.proto"];
    let (output, out) = protoc(&[&include], &ts);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(files(out.path())["plain_stadium.ts"].contains(" from \"./plain_pb.js\";"));
}

/// The message of protoc for a contract that is refused.
fn refusal(language: &str, contract: &str) -> String {
    let folder = tempfile::tempdir().expect("a folder for the contract");
    fs::write(folder.path().join("bad.proto"), contract).expect("the contract can be written");
    let parameter = format!("--stadium_out={language}:OUT");
    let (output, out) =
        protoc(&[folder.path(), &crate_folder().join("../../proto")], &[&parameter, "bad.proto"]);
    assert!(!output.status.success(), "{contract}");
    assert_eq!(files(out.path()), BTreeMap::new(), "nothing is written for a bad contract");
    String::from_utf8(output.stderr).expect("protoc prints text")
}

const HEAD: &str = "syntax = \"proto3\";\npackage bad;\nimport \"google/protobuf/empty.proto\";\n\
                    import \"stadium/rpc/v1/options.proto\";\nmessage M {}\n";

#[test]
fn what_rpc_build_refuses_is_refused_in_the_same_words() {
    for service in [
        "service S { rpc health(M) returns (M); }",
        "service S { rpc Go(M) returns (M) { option (stadium.rpc.v1.one_way) = true; } }",
        "service S { rpc Go(stream M) returns (google.protobuf.Empty) { option (stadium.rpc.v1.one_way) = true; } }",
        "service S { rpc GoOn(M) returns (M); rpc Go_On(M) returns (M); }",
    ] {
        let contract = format!("{HEAD}{service}");
        let folder = tempfile::tempdir().expect("a folder for the contract");
        let file = folder.path().join("bad.proto");
        fs::write(&file, &contract).expect("the contract can be written");
        let refused = compile_with(Config::new().out_dir(folder.path()), &[&file], &[folder.path()]);
        let words = refused.expect_err("rpc-build refuses it").to_string();
        assert!(words.starts_with("bad.proto: bad.S."), "{words}");
        for language in LANGUAGES {
            // Before it may be a warning of an unused import.
            let said = refusal(language, &contract);
            assert!(said.ends_with(&format!("--stadium_out: {words}\n")), "{said}");
        }
    }
}

#[test]
fn all_services_that_are_refused_are_named() {
    let said = refusal(
        "java",
        &format!("{HEAD}service S {{ rpc a(M) returns (M); }} service T {{ rpc b(M) returns (M); }}"),
    );
    assert!(said.contains("bad.proto: bad.S.a ") && said.contains("\nbad.proto: bad.T.b "), "{said}");
}

#[test]
fn names_that_meet_are_refused() {
    let service = |services: &str| format!("{HEAD}{services}");
    for language in LANGUAGES {
        let said = refusal(language, &service("service GoOn {} service Go_On {}"));
        assert!(said.contains("bad.proto: bad.Go_On has the same routes as bad.GoOn"), "{said}");
    }
    let java = service("option java_multiple_files = true; message SMethods {} service S {}");
    let said = refusal("java", &java);
    assert!(said.contains("bad.proto: bad.S becomes the class SMethods, which"), "{said}");
}

#[test]
fn an_unknown_parameter_is_an_error() {
    let said = refusal("kotlin", HEAD);
    assert!(said.contains("unknown parameter \"kotlin\"; give java, python, cpp or ts"), "{said}");
    let include = crate_folder().join("tests/proto");
    let (output, _) = protoc(&[&include], &["--stadium_out=OUT", "plain.proto"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && said.contains("names no language"), "{said}");
}

/// Runs the plugin itself.
fn plugin(stdin: &[u8], arguments: &[&str]) -> Output {
    let mut plugin = Command::new(env!("CARGO_BIN_EXE_protoc-gen-stadium"));
    plugin.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = plugin.spawn().expect("the plugin starts");
    // A plugin that has ended reads no more.
    let _ = child.stdin.take().expect("stdin was asked to be piped").write_all(stdin);
    child.wait_with_output().expect("the plugin ends")
}

#[test]
fn what_is_no_request_is_an_error_on_stderr() {
    // A file of the name "a": field 1. A descriptor that is no message: field 15, one byte.
    for (stdin, why) in [
        (&b""[..], "the request names no file"),
        (b"\xff\xff\xff", "stdin is no CodeGeneratorRequest"),
        (b"\x0a\x05a", "stdin is no CodeGeneratorRequest"),
        (b"\x0a\x01a", "the request asks for a and does not have it"),
        (b"\x0a\x01a\x7a\x01\xff", "has a file that is not well-formed"),
        // A descriptor without a name that imports "b".
        (b"\x0a\x01a\x7a\x06\x0a\x01a\x1a\x01b", "has a file that is not well-formed"),
    ] {
        let output = plugin(stdin, &[]);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(output.stdout.is_empty() && said.starts_with("protoc-gen-stadium: "), "{said}");
        assert!(said.contains(why), "{said}");
    }
}

#[test]
fn the_program_says_how_it_is_used() {
    let help = plugin(b"", &["--help"]);
    assert!(
        help.status.success() && String::from_utf8_lossy(&help.stdout).contains("--stadium_out=LANGUAGE:DIR")
    );
    let version = plugin(b"", &["--version"]);
    assert!(String::from_utf8_lossy(&version.stdout).starts_with("protoc-gen-stadium "));
    let unknown = plugin(b"", &["--jvaa"]);
    assert_eq!(unknown.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&unknown.stderr).contains("unknown argument \"--jvaa\""));
}
