//! The composition root and the command line of `treewarden`.

use std::process::ExitCode;

use clap::Parser as _;

mod cli;
mod client;
mod config;
mod print;
mod serve;

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    // The two inner programs come first: a shim is on the way of every launch, and must not do anything else.
    match arguments
        .next()
        .as_deref()
        .and_then(std::ffi::OsStr::to_str)
    {
        Some("shim") => treewarden_keeper::run_shim(arguments),
        Some("keeper") => treewarden_keeper::run_keeper(arguments),
        _ => command_line(),
    }
}

fn command_line() -> ExitCode {
    let cli = cli::Cli::parse();
    match cli.command {
        cli::Command::Serve(args) => serve::run(args),
        cli::Command::Client(command) => client::run(&command, &cli.client),
        cli::Command::Completions { shell } => print::data(&cli::completions(shell)),
    }
}
