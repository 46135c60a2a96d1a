//! `serve`.

use std::path::PathBuf;

use clap::Args;

use super::value;
use crate::serve::LogFormat;

/// How a node is run; what is given here wins over the file.
#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    /// The configuration file; none is needed
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Where the node keeps what lasts [default: ./treewarden-data]
    #[arg(long, value_name = "DIR")]
    pub(crate) data_dir: Option<PathBuf>,
    /// Where to serve HTTP; port 0 takes a free one [default: 127.0.0.1:7420]
    #[arg(long, value_name = "ADDR:PORT", value_parser = value::address)]
    pub(crate) listen: Option<String>,
    /// How logs are written to stderr; RUST_LOG says which
    #[arg(long, value_enum, default_value = "text", value_name = "FORMAT")]
    pub(crate) log_format: LogFormat,
}
