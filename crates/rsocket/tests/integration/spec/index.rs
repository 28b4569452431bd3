//! Holds docs/rsocket.md and the scenarios together, see testing/statements.rs.
//!
//! The specification does not number its statements: they are named by us, as `SETUP-2`.

#[path = "../../../../../testing/statements.rs"]
mod statements;

use statements::Page;

const PAGE: Page = Page { path: "docs/rsocket.md", is_statement, statements_min: 90 };

fn is_statement(tag: &str) -> bool {
    tag.split_once('-').is_some_and(|(section, number)| {
        section.bytes().all(|byte| byte.is_ascii_uppercase()) && number.parse::<u32>().is_ok()
    })
}

#[test]
fn document_and_stories_say_the_same() {
    PAGE.agrees_with_behaviours();
}

#[test]
fn behaviours_elsewhere_exist() {
    PAGE.behaviours_elsewhere_exist();
}
