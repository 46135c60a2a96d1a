//! The directions of imports between the rooms (ARCHITECTURE.md, "Rooms").
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "test code"
)]

use std::collections::{BTreeMap, BTreeSet};

/// What each room may import. `treewarden` (src) and `treewarden-benches` may import all.
const ALLOWED: [(&str, &[&str]); 10] = [
    ("treewarden-model", &[]),
    ("treewarden-storage", &["treewarden-model"]),
    ("treewarden-keeper", &[]),
    ("treewarden-protocol", &[]),
    (
        "treewarden-runtime",
        &[
            "treewarden-model",
            "treewarden-protocol",
            "treewarden-keeper",
        ],
    ),
    (
        "treewarden-actors",
        &[
            "treewarden-model",
            "treewarden-storage",
            "treewarden-runtime",
        ],
    ),
    ("treewarden-api", &["treewarden-model", "treewarden-actors"]),
    ("treewarden-sdk", &["treewarden-protocol"]),
    ("treewarden-ledger", &["treewarden-sdk"]),
    ("treewarden-kit", &[]),
];

/// Crates that only some rooms may name: the rules stay pure, and each heavy dependency has one home.
const ONLY: [(&str, &[&str]); 5] = [
    ("sled", &["treewarden-storage"]),
    ("axum", &["treewarden-api"]),
    ("ractor", &["treewarden-actors"]),
    ("ureq", &["treewarden", "treewarden-kit"]),
    ("bincode", &["treewarden-storage"]),
];

const MODEL_MAY_USE: [&str; 6] = [
    "humantime",
    "serde",
    "serde_json",
    "sha2",
    "thiserror",
    "uuid",
];

fn dependencies() -> BTreeMap<String, BTreeSet<String>> {
    let metadata = cargo_metadata::MetadataCommand::new()
        .no_deps()
        .exec()
        .unwrap();
    let normal = cargo_metadata::DependencyKind::Normal;
    let of = |package: &cargo_metadata::Package| {
        package
            .dependencies
            .iter()
            .filter(|d| d.kind == normal)
            .map(|d| d.name.clone())
            .collect()
    };
    metadata
        .packages
        .iter()
        .map(|package| (package.name.to_string(), of(package)))
        .collect()
}

#[test]
fn imports_follow_the_directions() {
    let all = dependencies();
    for (room, allowed) in ALLOWED {
        for used in all[room]
            .iter()
            .filter(|name| name.starts_with("treewarden-"))
        {
            assert!(
                allowed.contains(&used.as_str()),
                "{room} must not import {used}"
            );
        }
    }
    let known: BTreeSet<&str> = ALLOWED
        .iter()
        .map(|(room, _)| *room)
        .chain(["treewarden", "treewarden-benches"])
        .collect();
    for package in all.keys() {
        assert!(
            known.contains(package.as_str()),
            "{package} has no place in the table of directions"
        );
    }
}

#[test]
fn heavy_dependencies_have_one_home() {
    for (package, used) in dependencies() {
        for (name, homes) in ONLY {
            assert!(
                !used.contains(name) || homes.contains(&package.as_str()),
                "{package} must not use {name}"
            );
        }
    }
    for used in &dependencies()["treewarden-model"] {
        assert!(
            MODEL_MAY_USE.contains(&used.as_str()),
            "the rules must not use {used}"
        );
    }
}
