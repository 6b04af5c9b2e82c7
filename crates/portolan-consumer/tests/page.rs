//! The documentation shows the example as it is.

use std::path::Path;

#[test]
fn the_page_quotes_the_example_word_for_word() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let example = std::fs::read_to_string(root.join("examples/deploy.rs")).expect("there is an example");
    let page = std::fs::read_to_string(root.join("../../docs/consumer.md")).expect("there is a page");
    let quoted = format!("```rust\n{example}```\n");
    assert!(
        page.contains(&quoted),
        "docs/consumer.md is to quote this:\n{quoted}"
    );
    let counts = |line: &&str| {
        let line = line.trim();
        !line.is_empty() && !line.starts_with("//") && !line.starts_with("use ")
    };
    let lines = example.lines().filter(counts).count();
    assert!(
        lines <= 40,
        "the page says 40 lines besides imports; there are {lines}"
    );
}
