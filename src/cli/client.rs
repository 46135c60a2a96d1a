//! Commands that ask a running node.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};
use serde_json::value::RawValue;

use super::value;

/// How to reach a node.
#[derive(Debug, Args)]
#[command(next_help_heading = "Options of the commands that ask a node")]
pub(crate) struct ClientOptions {
    /// Where the node serves HTTP
    #[arg(
        long,
        global = true,
        env = "TREEWARDEN_URL",
        hide_env_values = true,
        default_value = "http://127.0.0.1:7420",
        value_name = "URL"
    )]
    pub(crate) url: String,
    /// File that holds the token; without it the token in TREEWARDEN_TOKEN, else ./treewarden-data/admin.token
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
    /// How to write the answer
    #[arg(
        short,
        long,
        global = true,
        value_enum,
        default_value = "table",
        value_name = "FORMAT"
    )]
    pub(crate) output: OutputFormat,
    /// Longest wait for an answer, such as "30 seconds"; `entry call` gives it to the plugin too
    #[arg(long, global = true, value_parser = value::duration, value_name = "DURATION")]
    pub(crate) timeout: Option<Duration>,
}

/// How an answer is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutputFormat {
    /// For people
    Table,
    /// One JSON value
    Json,
    /// One JSON value a line
    Jsonl,
}

/// What to ask.
#[derive(Debug, Subcommand)]
pub(crate) enum ClientCommand {
    /// Show the node and all entries: state, why, what next, how they ended
    Status,
    /// Show the live actor tree
    Tree {
        /// How to draw it [default: text, or json with -o json]
        #[arg(long, value_enum, value_name = "FORMAT")]
        format: Option<TreeFormat>,
    },
    /// See and steer entries; their names may be shortened to a unique prefix
    #[command(subcommand)]
    Entry(EntryCommand),
    /// Make the node read its configuration file again
    Reload,
}

/// How the tree is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum TreeFormat {
    /// Indented lines
    Text,
    /// JSON
    Json,
    /// A graphviz graph
    Dot,
}

/// `entry …`.
#[derive(Debug, Subcommand)]
pub(crate) enum EntryCommand {
    /// List entries
    #[command(visible_alias = "list")]
    Ls,
    /// Show an entry
    Show {
        /// Its name
        entry: String,
    },
    /// Start an entry, and wait until it runs
    Start {
        /// Its name
        entry: String,
    },
    /// Stop an entry in order, its consumers first, and wait until it is gone
    Stop {
        /// Its name
        entry: String,
    },
    /// Stop an entry in order and start it again
    Restart {
        /// Its name
        entry: String,
    },
    /// Stop an entry without grace
    Kill {
        /// Its name
        entry: String,
    },
    /// Forget an entry's failures, so that it is started again
    Reset {
        /// Its name
        entry: String,
    },
    /// Call a service that an entry provides, and print its result
    Call(CallArgs),
    /// Print the last lines of an entry's log
    Logs(LogsArgs),
}

/// `entry call`.
#[derive(Debug, Args)]
pub(crate) struct CallArgs {
    /// The entry's name
    pub(crate) entry: String,
    /// The service
    pub(crate) service: String,
    /// The method
    pub(crate) method: String,
    /// Parameters, as JSON
    #[arg(value_parser = value::json, value_name = "PARAMS_JSON")]
    pub(crate) params: Option<Box<RawValue>>,
}

/// `entry logs`.
#[derive(Debug, Args)]
pub(crate) struct LogsArgs {
    /// The entry's name
    pub(crate) entry: String,
    /// How many lines, at most 500
    #[arg(short = 'n', long, default_value = "100", value_parser = value::lines, value_name = "LINES")]
    pub(crate) tail: u32,
}
