//! docs/c-abi.md: its program runs, and its tables have the settings that there are.

use std::fs;

use stadium_c::settings::{ClientSettings, ServerSettings};

use crate::programs::{compile_source, crate_folder, run};

fn guide() -> String {
    fs::read_to_string(crate_folder().join("../../docs/c-abi.md")).expect("the guide is in the repository")
}

#[test]
fn program_of_the_guide_runs() {
    let guide = guide();
    let (_, rest) = guide.split_once("```c\n").expect("the guide has a program");
    let (program, _) = rest.split_once("```").expect("the program ends");
    let folder = tempfile::tempdir().expect("a temporary directory can be made");
    let source = folder.path().join("guide.c");
    // A port that nobody else takes.
    let port = std::net::TcpListener::bind("127.0.0.1:0").and_then(|one| one.local_addr());
    let port = port.expect("there are free ports").port().to_string();
    fs::write(&source, program.replace("7801", &port)).expect("the directory can be written to");
    let program = folder.path().join("guide");
    compile_source(&source, "cc", &["-std=gnu11"], &program);
    let output = run(&program);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "0: hello\n");
}

/// The fields that are known, as the error about one that is not lists them.
fn fields(error: impl std::fmt::Display) -> Vec<String> {
    let text = error.to_string();
    let (_, known) = text.split_once("expected one of ").expect("the error lists the fields");
    known.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

#[test]
fn tables_of_the_guide_have_every_setting() {
    let guide = guide();
    let (_, settings) = guide.split_once("## Settings").expect("there is such a section");
    let tables: Vec<&str> = settings.split("\n\n| ").collect();
    let nowhere = r#"{"nowhere": 1}"#;
    let inside = r#"{"instances": ["x:1"], "discovery": {"nowhere": 1}}"#;
    let known = [
        fields(ClientSettings::from_json(nowhere).expect_err("there is no such setting")),
        fields(ServerSettings::from_json(nowhere).expect_err("there is no such setting")),
        fields(ClientSettings::from_json(inside).expect_err("there is no such setting")),
    ];
    assert_eq!(tables.len(), 1 + known.len());
    for (table, known) in tables[1..].iter().zip(known) {
        let rows = table.lines().filter(|line| line.starts_with("| `"));
        let named: Vec<String> = rows
            .flat_map(|row| row.split('|').nth(1).unwrap_or_default().split('`').skip(1).step_by(2))
            .map(str::to_owned)
            .collect();
        assert!(known.len() > 4);
        assert_eq!(named, known, "in {table:.20}");
    }
}
