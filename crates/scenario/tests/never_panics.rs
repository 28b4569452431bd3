//! Whatever text comes, reading it ends in a program or in problems that lie within it.
//!
//! Texts are noise, and the scenario that uses everything with a piece of it replaced.

use proptest::prelude::*;

const EVERYTHING: &str = include_str!("scenarios/everything.toml");

fn read(text: &str) {
    let mut files = |_: &str| Ok(b"name,age,club\nAda,41,x\n".to_vec());
    if let Err(problems) = stadium_scenario::parse(text, &mut files) {
        assert!(!problems.is_empty());
        for problem in problems {
            assert!(problem.line as usize <= text.lines().count() + 1, "{problem}");
            assert!(!problem.render("x.toml", text).is_empty());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn noise(text in "\\PC{0,200}") {
        read(&text);
    }

    #[test]
    fn a_replaced_piece(at in 0.0..1.0f64, length in 0usize..12, piece in "[\\[\\]{}\"'=,.$a-z0-9 \n-]{0,6}") {
        let boundary = |at: usize| (at..=EVERYTHING.len()).find(|at| EVERYTHING.is_char_boundary(*at)).unwrap();
        let start = boundary((at * EVERYTHING.len() as f64) as usize);
        let end = boundary((start + length).min(EVERYTHING.len()));
        read(&format!("{}{piece}{}", &EVERYTHING[..start], &EVERYTHING[end..]));
    }

    #[test]
    fn expressions_and_paths(text in "[a-z0-9 ()+*/%<>=!&|'\"\\[\\]$@?:.,_-]{0,40}") {
        use stadium_scenario::{expression::Expression, json_path::JsonPath, template::Template};
        let mut names = vec!["a".to_owned()];
        for mistake in [
            Expression::parse(&text, &mut names).err(),
            JsonPath::parse(&text).err(),
            Template::parse(&format!("${{{text}"), &mut names).err().filter(|mistake| mistake.range.end <= text.len()),
            stadium_scenario::duration::parse(&text).err(),
        ].into_iter().flatten() {
            assert!(text.get(mistake.range.clone()).is_some(), "{mistake} at {:?} in {text:?}", mistake.range);
        }
    }
}
