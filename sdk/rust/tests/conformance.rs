//! The plugin protocol from outside, the same cases for each SDK: a small host talks lines with a real process.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs,
    unreachable_pub,
    reason = "test code"
)]

#[path = "conformance/driver.rs"]
mod driver;

#[path = "conformance/calls.rs"]
mod calls;
#[path = "conformance/ending.rs"]
mod ending;
#[path = "conformance/lines.rs"]
mod lines;
#[path = "conformance/starting.rs"]
mod starting;
#[path = "conformance/streams.rs"]
mod streams;

/// Makes a test of each case for each SDK.
macro_rules! cases {
    ($($case:ident)+) => {
        mod rust {
            $(#[test] fn $case() { super::$case(&crate::driver::Target::rust()); })+
        }
        mod python {
            $(#[test] fn $case() { super::$case(&crate::driver::Target::python()); })+
        }
    };
}
pub(crate) use cases;
