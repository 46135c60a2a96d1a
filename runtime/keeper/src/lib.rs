//! The keeper: the process that owns plugin processes, and the node's end of it.
//!
//! A node (or runner) starts one keeper with [`start()`] and talks to it over a [`Link`]. The keeper starts plugins
//! through an exec shim, is their child subreaper, reaps them, keeps their exit statuses, and ends them when the node is
//! gone (SUP-22, SUP-35). It decides nothing: the node says when a family is interrupted or killed.
//!
//! ```text
//! node ──Link (SOCK_SEQPACKET)── keeper ── shim ⇒ plugin ── descendants
//! ```
//!
//! * [`wire`]: what the two say to each other.
//! * [`link`], [`start`](mod@start): the node's end.
//! * [`keeper`], [`shim`]: the two programs, called by hidden subcommands.
//! * [`leftovers`]: what a starting node does about an earlier keeper and its plugins (SUP-17).
//! * [`orphans`]: what a node does when its keeper is lost (SUP-35).
//! * [`mark`], [`identity`], [`outcome`]: the words.
//!
//! Everything here is Linux only (5.14 or newer) and uses no asynchronous runtime.

pub(crate) mod cgroup;
pub mod identity;
pub mod keeper;
pub mod leftovers;
pub mod link;
pub mod mark;
pub mod orphans;
pub mod outcome;
pub mod shim;
pub mod start;
pub mod system;
pub mod wire;

pub use cgroup::{CgroupUse, EnforcedLimits, Enforcement};
pub use identity::{ProcessId, ProcessIdentity, StartTime};
pub use keeper::run_keeper;
pub use link::Link;
pub use mark::{LaunchText, Mark, NodeTag, Ordinal};
pub use outcome::{Evidence, ExitStatus};
pub use shim::run_shim;
pub use start::{KeeperOptions, KeeperProcess, start};
