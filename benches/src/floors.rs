//! Floors: the same thing without a node.

pub(crate) mod echo;
pub(crate) mod spawn;
pub(crate) mod sync;
