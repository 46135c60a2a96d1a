//! What a starting node does about an earlier keeper and its plugins (SUP-17, SUP-35).
//!
//! In this order, before anything is launched: [`wait_for_keeper`] until the earlier keeper has ended (it ends its
//! families itself); [`read_last`] for the exit statuses it left (SUP-37); and, in case node and keeper were lost
//! together, [`kill_marked`] again and again until no process with this node's marks is found, and [`sweep_groups`] until
//! no control group of its launches is left.

mod groups;
mod last;
mod lock;
mod marked;

pub use groups::{LeftGroup, sweep_groups};
pub use last::{KeeperLast, LastError, LastLaunch, read_last};
pub use lock::{KeeperState, probe_keeper, wait_for_keeper};
pub use marked::{MarkedProcess, NodeMarks, kill_marked, scan_marked};

pub(crate) use last::write_last;
pub(crate) use lock::take_lock;
