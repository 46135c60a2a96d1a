//! The composition root and the command line of `treewarden`.

use std::process::ExitCode;

mod config;
mod print;
mod serve;

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    // The two inner programs come first: a shim is on the way of every launch, and must not do anything else.
    match arguments.next().as_deref().and_then(std::ffi::OsStr::to_str) {
        Some("shim") => treewarden_keeper::run_shim(arguments),
        Some("keeper") => treewarden_keeper::run_keeper(arguments),
        _ => {
            let all: Vec<String> = std::env::args().collect();
            let get = |name: &str| all.iter().position(|a| a == name).and_then(|i| all.get(i + 1).cloned());
            serve::run(serve::ServeOptions { config: get("--config").map(Into::into), data_dir: get("--data-dir").map(Into::into), listen: get("--listen"), log_format: serve::LogFormat::Text })
        }
    }
}
