//! Whatever text comes, reading it ends in a program or in problems that lie within it.
//!
//! Texts are noise, and good files of each kind with a piece replaced.

use proptest::prelude::*;

use crate::scenario_text;

const EVERYTHING: &str = include_str!("../scenarios/everything.toml");
const RECORDING: &str = include_str!("../scenarios/recording.har");
const TSUNG: &str = include_str!("../scenarios/tsung.xml");

/// A text with a piece of it replaced; `at` is a part of its length.
fn replaced(text: &str, at: f64, length: usize, piece: &str) -> String {
    let boundary = |at: usize| (at..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len());
    let start = boundary((at * text.len() as f64) as usize);
    let end = boundary((start + length).min(text.len()));
    format!("{}{piece}{}", &text[..start], &text[end..])
}

#[test]
fn good_files_are_taken() {
    assert!(scenario_text::scenario(EVERYTHING));
    assert!(scenario_text::imported(RECORDING) && scenario_text::imported(TSUNG));
    assert!(scenario_text::piece("a + 1"));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn noise(text in "\\PC{0,200}") {
        scenario_text::scenario(&text);
        scenario_text::imported(&text);
    }

    #[test]
    fn a_replaced_piece(at in 0.0..1.0f64, length in 0usize..12, piece in "[\\[\\]{}\"'=,.$a-z0-9 \n-]{0,6}") {
        scenario_text::scenario(&replaced(EVERYTHING, at, length, &piece));
    }

    #[test]
    fn a_replaced_piece_of_another_tool(at in 0.0..1.0f64, length in 0usize..12, piece in "[{}\\[\\]\":,<>/%_$='a-z0-9 ]{0,6}") {
        scenario_text::imported(&replaced(RECORDING, at, length, &piece));
        scenario_text::imported(&replaced(TSUNG, at, length, &piece));
    }

    #[test]
    fn expressions_and_paths(text in "[a-z0-9 ()+*/%<>=!&|'\"\\[\\]$@?:.,_{}-]{0,40}") {
        scenario_text::piece(&text);
        scenario_text::piece(&format!("${{{text}"));
    }
}
