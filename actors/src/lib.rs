//! What lives: the supervision tree. Every actor is glue around a rule from `model`.
//!
//! An actor can be killed at any moment without loss: what it works on lies in cells that outlive it, its inbox included, and
//! processes belong to the keeper. See `ARCHITECTURE.md`, "The tree".

pub mod answers;
mod cell;
mod edge;
mod edge_server;
mod entries;
mod entry;
mod exits;
#[cfg(feature = "faults")]
pub mod faults;
mod fence;
mod handle;
mod hub;
mod instance;
pub mod limits;
mod log_ring;
mod mailbox;
mod meta;
mod node;
mod services;
mod store;
mod termination_log;
pub mod view;
mod warden;

pub use edge_server::{EdgePhase, EdgeServer};
pub use handle::NodeHandle;
pub use hub::ConfigSource;
pub use node::{NodeParts, RunningNode, StartError};
pub use warden::KeeperSetup;
