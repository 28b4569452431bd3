//! Holds docs/mqtt.md and the behaviours together, as testing/statements.rs says.
//!
//! Statements are `MQTT-…` of 5.0 and `3.1.1 MQTT-…`.

#[path = "../../../../../testing/statements.rs"]
mod statements;

use statements::Page;

const PAGE: Page =
    Page { path: "docs/mqtt.md", is_statement: |tag| tag.contains("MQTT-"), statements_min: 300 };

#[test]
fn document_and_stories_say_the_same() {
    PAGE.agrees_with_stories();
}

#[test]
fn stories_of_other_crates_exist() {
    PAGE.stories_elsewhere_exist();
}
