//! The actor tree for people and for graphviz.

mod detail;
mod dot;
mod text;

pub(crate) use dot::dot;
pub(crate) use text::text;
