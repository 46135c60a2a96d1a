//! The tests of families, with control groups.

#[path = "families.rs"]
mod families;
