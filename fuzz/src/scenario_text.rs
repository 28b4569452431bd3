//! Fuzz bodies: any text as a scenario, an expression, a template, and as a file of another tool. It is taken, or refused with problems
//! that lie within it; what an import makes is a scenario, or lacks only the content of files that
//! it names.
//!
//! Ordinary functions, so that the stable test `never_panics` of crates/scenario runs them as well.

use stadium_scenario::expression::Expression;
use stadium_scenario::template::Template;
use stadium_scenario::{import, parse};

/// Whether the text is a scenario.
pub fn scenario(text: &str) -> bool {
    let mut files = |_: &str| Ok(b"name,age,club\nAda,41,x\n".to_vec());
    let Err(problems) = parse(text, &mut files) else { return true };
    assert!(!problems.is_empty());
    for problem in problems {
        assert!(problem.line as usize <= text.lines().count() + 1, "{problem}");
        assert!(!problem.render("x.toml", text).is_empty());
    }
    false
}

/// Whether the text is an expression or a template, with a variable `a`.
pub fn piece(text: &str) -> bool {
    let mut names = vec!["a".to_owned()];
    let results = [
        Expression::parse(text, &mut names).map(drop),
        Template::parse(text, &mut names).map(drop),
        stadium_scenario::json_path::JsonPath::parse(text).map(drop),
        stadium_scenario::duration::parse(text).map(drop),
    ];
    for mistake in results.iter().filter_map(|result| result.as_ref().err()) {
        assert!(text.get(mistake.range.clone()).is_some(), "{mistake} at {:?} in {text:?}", mistake.range);
    }
    results.iter().any(Result::is_ok)
}

/// Whether the text is a file of another tool.
pub fn imported(text: &str) -> bool {
    let mut one = false;
    for import in [import::har(text), import::tsung(text)] {
        match import {
            Ok(imported) => {
                one = true;
                scenario(&imported.text);
            }
            Err(reason) => assert!(!reason.message.is_empty()),
        }
    }
    one
}
