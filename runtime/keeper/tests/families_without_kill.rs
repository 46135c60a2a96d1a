//! The tests of families, with control groups as on a kernel without `cgroup.kill` (S6).

#[path = "families.rs"]
mod families;
