//! A small binary with both programs of this crate, so that tests of other crates need no node.

use std::process::ExitCode;

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    match arguments.next().as_ref().and_then(|name| name.to_str()) {
        Some("keeper") => treewarden_keeper::run_keeper(arguments),
        Some("shim") => treewarden_keeper::run_shim(arguments),
        _ => ExitCode::from(2),
    }
}
