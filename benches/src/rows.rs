//! What is measured: one module a group of rows.

mod call;
mod crash;
mod http;
mod kill;
mod memory;
mod start;

use crate::table::Row;

/// Measures a group.
pub(crate) type Measure = fn() -> anyhow::Result<Vec<Row>>;

/// Every group, by the name that selects it.
pub(crate) const ALL: [(&str, Measure); 6] = [
    ("start", start::measure),
    ("crash", crash::measure),
    ("kill", kill::measure),
    ("call", call::measure),
    ("http", http::measure),
    ("memory", memory::measure),
];
