//! What a contract becomes: routes, interactions, types, names, descriptors; and what is refused.
//!
//! tests/expected has the generated text as it should be; it is compiled here too. That such a service serves is shown
//! by examples/geo, whose build script is an ordinary user's.

use std::fs;
use std::path::Path;

use protox::prost_reflect::DescriptorPool;
use stadium_rpc_build::prost_build::Config;
use stadium_rpc_build::{Error, compile_with};

/// The generated file of `package` for the contract in tests/proto.
fn generated(file: &str, package: &str) -> String {
    let out = tempfile::tempdir().expect("a folder for the generated code");
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/proto");
    compile_with(Config::new().out_dir(out.path()), &[folder.join(file)], &[folder])
        .expect("the contract is good");
    fs::read_to_string(out.path().join(format!("{package}.rs"))).expect("a file named after the package")
}

/// Code without its layout, which is prost's affair.
fn squeezed(code: &str) -> String {
    code.split_whitespace().collect::<String>().replace(",)", ")").replace(",>", ">")
}

/// What compiling a contract with this service is refused with.
fn refusal(service: &str) -> String {
    let folder = tempfile::tempdir().expect("a folder for the contract");
    let file = folder.path().join("bad.proto");
    let text = format!(
        "syntax = \"proto3\";\npackage bad;\nimport \"google/protobuf/empty.proto\";\n\
         import \"stadium/rpc/v1/options.proto\";\nmessage M {{}}\n{service}\n"
    );
    fs::write(&file, text).expect("the contract can be written");
    let out = tempfile::tempdir().expect("a folder for the generated code");
    let error = compile_with(Config::new().out_dir(out.path()), &[&file], &[folder.path()])
        .expect_err("the contract is bad");
    assert!(!out.path().join("bad.rs").exists(), "nothing is written for a bad contract");
    error.to_string()
}

/// The generated module where it belongs: below its package, beside the messages. That it compiles is half of the test.
mod house {
    pub mod rooms {
        #[derive(Clone, PartialEq, prost::Message)]
        pub struct Room {}
    }
    pub mod v2 {
        #[derive(Clone, PartialEq, prost::Message)]
        pub struct Door {}
        include!("expected/house_keeper.txt");
    }
}

#[test]
fn a_service_becomes_a_module_of_constants() {
    let code = generated("house.proto", "house.v2");
    let begins =
        code.find("/// Looks after a house.").expect("the module is there, with the contract's words");
    let ends = code.find("/// An encoded").expect("the descriptors come last");
    let expected = include_str!("expected/house_keeper.txt");
    assert_eq!(squeezed(&code[begins..ends]) + "}", squeezed(expected));
}

#[test]
fn constants_say_how_their_methods_are_called() {
    use house::v2::house_keeper as keeper;
    use stadium_rpc::{Idempotency, Interaction};
    assert_eq!((keeper::NAME, keeper::VERSION), ("house_keeper", "2"));
    let open = keeper::OPEN;
    assert_eq!((open.route(), open.interaction()), ("house_keeper/Open", Interaction::Unary));
    assert_eq!(open.idempotency(), Idempotency::Unknown);
    assert_eq!(keeper::LAST_SEEN.idempotency(), Idempotency::Idempotent, "it has no side effects");
    assert_eq!(keeper::LOCK.idempotency(), Idempotency::Idempotent);
    assert_eq!(keeper::VISITORS.interaction(), Interaction::Stream);
    assert_eq!(keeper::COUNT.interaction(), Interaction::Channel);
    assert_eq!(keeper::TALK.interaction(), Interaction::Channel);
    assert_eq!(keeper::RING.interaction(), Interaction::OneWay);
    assert_eq!(keeper::VERSION_.route(), "house_keeper/Version", "the version had the name already");
}

#[test]
fn descriptors_name_every_type_without_another_file() {
    let code = generated("house.proto", "house.v2");
    let (_, rest) = code.split_once("FILE_DESCRIPTOR_SET: &[u8] = b\"").expect("the constant is there");
    let (literal, _) = rest.split_once("\";\n").expect("the literal ends");
    let pool = DescriptorPool::decode(unescape(literal).as_slice()).expect("the set is whole");
    let service = pool.get_service_by_name("house.v2.HouseKeeper").expect("the service is in it");
    let visitors = service.methods().find(|method| method.name() == "Visitors").expect("its methods too");
    assert_eq!(visitors.output().full_name(), "house.rooms.Room");
    assert!(visitors.is_server_streaming());
    assert!(
        pool.files().all(|file| file.file_descriptor_proto().source_code_info.is_none()),
        "comments stay at home"
    );
}

#[test]
fn what_could_not_be_served_is_refused_by_name() {
    let small = refusal("service S { rpc health(M) returns (M); }");
    assert!(small.starts_with("bad.proto: bad.S.health starts with a small letter"), "{small}");
    let answering =
        refusal("service S { rpc Go(M) returns (M) { option (stadium.rpc.v1.one_way) = true; } }");
    assert!(answering.starts_with("bad.proto: bad.S.Go is one_way"), "{answering}");
    let streaming = refusal(
        "service S { rpc Go(stream M) returns (google.protobuf.Empty) { option (stadium.rpc.v1.one_way) = true; } }",
    );
    assert!(streaming.starts_with("bad.proto: bad.S.Go is one_way"), "{streaming}");
    let twice = refusal("service S { rpc GoOn(M) returns (M); rpc Go_On(M) returns (M); }");
    assert!(twice.starts_with("bad.proto: bad.S.Go_On differs from another method"), "{twice}");
}

#[test]
fn a_mistake_in_a_contract_is_reported_with_its_line() {
    let mistake = refusal("service S { rpc Go(Nothing) returns (M); }");
    assert!(mistake.contains("bad.proto:6:") && mistake.contains("Nothing"), "{mistake}");
}

#[test]
fn a_file_that_is_not_there_is_an_error_of_the_contract() {
    let out = tempfile::tempdir().expect("a folder for the generated code");
    let error = compile_with(Config::new().out_dir(out.path()), &["absent.proto"], &[out.path()]);
    assert!(matches!(error, Err(Error::Contract(_))), "{error:?}");
}

/// Undoes `<[u8]>::escape_ascii`.
fn unescape(literal: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = literal.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'\\' {
            bytes.push(byte);
            continue;
        }
        match rest.next().expect("an escape has a letter") {
            b't' => bytes.push(b'\t'),
            b'r' => bytes.push(b'\r'),
            b'n' => bytes.push(b'\n'),
            b'x' => {
                let mut digit =
                    || char::from(rest.next().expect("two digits")).to_digit(16).expect("hexadecimal");
                bytes.push(u8::try_from(digit() * 16 + digit()).expect("two hexadecimal digits"));
            }
            other => bytes.push(other),
        }
    }
    bytes
}
