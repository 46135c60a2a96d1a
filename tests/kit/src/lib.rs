//! Harness of the black-box tests: the real binary, real plugin processes, faults.
//!
//! A test starts a [`Node`] on a temporary directory with [`Entry`]s that mostly run `faulty-plugin`, talks to it over HTTP
//! and the command line as a user would, looks at `/proc` behind its back, and reads the plugins' own traces.
//! Everything waits with a bound; a node that is dropped must leave no process behind.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    clippy::let_underscore_must_use,
    clippy::print_stderr,
    reason = "test code"
)]

pub mod binaries;
pub mod entry;
pub mod freezer;
pub mod groups;
pub mod node;
pub mod process;
pub mod rounds;
pub mod trace;
pub mod wait;

pub use entry::{Entry, config};
pub use node::{Node, Options};
pub use rounds::{Random, rounds, skipped};
pub use wait::{Stopwatch, boottime, wait_for, wait_until};
