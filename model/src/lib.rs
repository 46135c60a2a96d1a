//! The rules of Treewarden: pure functions and state machines.
//!
//! Nothing here does IO, reads a clock or draws random numbers. A machine is fed with events and the
//! time they happened at, and answers with effects for a shell (an actor) to carry out.

pub mod declaration;
pub mod entry;
pub mod fingerprint;
pub mod graph;
pub mod id;
pub mod launch;
pub mod name;
pub mod outcome;
pub mod quantity;
pub mod reload;
pub mod retry;
pub mod shutdown;
pub mod status;
pub mod supervisor;
pub mod termination;
pub mod time;
