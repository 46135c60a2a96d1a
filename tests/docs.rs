//! The documentation keeps up with the code.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "test code"
)]

use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Every code that the API answers with has its row in `docs/errors.md`.
#[test]
fn every_error_code_is_documented() {
    let source = std::fs::read_to_string(root().join("api/src/problem/code.rs")).unwrap();
    let page = std::fs::read_to_string(root().join("docs/errors.md")).unwrap();
    let codes: Vec<&str> = source
        .lines()
        .filter(|line| line.starts_with("    ") && line.trim_end().ends_with("\";"))
        .filter_map(|line| line.split('"').nth(1))
        .collect();
    assert!(
        codes.len() > 20,
        "the table of codes was not found: {codes:?}"
    );
    for code in codes {
        assert!(
            page.contains(&format!("| `{code}` |")),
            "docs/errors.md lacks {code}"
        );
    }
}

/// Links between the pages lead somewhere.
#[test]
fn links_between_pages_lead_somewhere() {
    let mut pages = vec![root().join("README.md"), root().join("ARCHITECTURE.md")];
    for entry in std::fs::read_dir(root().join("docs")).unwrap() {
        pages.push(entry.unwrap().path());
    }
    for page in pages
        .iter()
        .filter(|page| page.extension().is_some_and(|kind| kind == "md"))
    {
        let text = std::fs::read_to_string(page).unwrap();
        for target in text
            .split("](")
            .skip(1)
            .filter_map(|rest| rest.split(')').next())
        {
            if target.starts_with("http") || target.starts_with('#') {
                continue;
            }
            let path: &Path = Path::new(target.split('#').next().unwrap());
            assert!(
                page.parent().unwrap().join(path).exists(),
                "{} links to {target}",
                page.display()
            );
        }
    }
}
