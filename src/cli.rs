//! The command line (interfaces.md §1). A wrong one ends with exit code 2, said by clap.

mod client;
mod serve;
mod value;

use clap::{CommandFactory as _, Parser, Subcommand};

pub(crate) use client::{
    CallArgs, ClientCommand, ClientOptions, EntryCommand, LogsArgs, OutputFormat, TreeFormat,
};
pub(crate) use serve::ServeArgs;

/// Supervises plugins in processes of their own.
#[derive(Debug, Parser)]
#[command(
    name = "treewarden",
    version,
    after_help = "Exit codes: 0 done, 1 failed, 2 wrong usage, 3 shutdown unfinished."
)]
pub(crate) struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
    /// How to reach a node, for the commands that ask one.
    #[command(flatten)]
    pub(crate) client: ClientOptions,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a node until SIGTERM or SIGINT
    Serve(ServeArgs),
    /// Commands that ask a running node.
    #[command(flatten)]
    Client(ClientCommand),
    /// Print completions for a shell, to be sourced by it
    Completions {
        /// Which shell
        shell: clap_complete::Shell,
    },
}

/// The completions of a shell, as the shell reads them.
pub(crate) fn completions(shell: clap_complete::Shell) -> Vec<u8> {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "treewarden", &mut text);
    text
}
