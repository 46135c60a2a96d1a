//! Nodes to measure: one composed in this process, and the real program.

pub(crate) mod binary;
pub(crate) mod in_process;
