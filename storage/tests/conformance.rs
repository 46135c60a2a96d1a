//! What any backend must do, run against sled and against one in memory.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs,
    reason = "test code"
)]

use treewarden_storage::{SledStore, Store};

#[path = "conformance/memory.rs"]
mod memory;
#[path = "conformance/suite.rs"]
mod suite;

/// A backend in the middle of a test, and what keeps its files alive.
struct Subject {
    store: Box<dyn Store>,
    _files: Option<tempfile::TempDir>,
}

fn sled() -> Subject {
    let files = tempfile::tempdir().unwrap();
    let store = Box::new(SledStore::open(files.path(), 1 << 20).unwrap());
    Subject {
        store,
        _files: Some(files),
    }
}

fn in_memory() -> Subject {
    Subject {
        store: Box::new(memory::MemoryStore::default()),
        _files: None,
    }
}

macro_rules! conformance {
    ($($(#[$doc:meta])* $rule:ident),* $(,)?) => {
        mod with_sled {
            $($(#[$doc])* #[test] fn $rule() { super::suite::$rule(super::sled); })*
        }
        mod with_memory {
            $($(#[$doc])* #[test] fn $rule() { super::suite::$rule(super::in_memory); })*
        }
    };
}

conformance! {
    /// SUP-13
    numbers_are_remembered,
    /// SUP-39
    the_last_desired_state_holds,
    /// SUP-11
    a_confirmed_end_is_final,
    /// SUP-12
    an_unconfirmed_end_gives_way_to_a_later_one,
    /// SUP-10
    the_last_stops_are_kept_in_the_order_of_launches,
    /// SUP-13
    the_last_launch_of_an_entry_never_falls,
    tokens_are_found_by_hash_and_unique,
    two_tokens_with_one_hash_in_a_group_do_not_both_pass,
    a_deleted_token_is_gone_and_its_hash_free,
    pages_join_without_gap_or_repetition,
    a_group_without_changes_is_no_group,
    /// SUP-38: what a group decides does not depend on how commands were grouped.
    random_groups_decide_as_single_commands_do,
}
