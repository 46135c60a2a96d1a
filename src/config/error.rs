//! What is wrong with a configuration file.

use std::fmt;
use std::io;
use std::path::PathBuf;

use treewarden_model::declaration::problem::Problem;

/// How many problems a message lists; the number of the others follows.
const LISTED_MAX: usize = 50;

/// Why a configuration file is not accepted.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConfigError {
    /// It can't be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// Which file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// It is larger than any configuration is.
    #[error("{} is larger than {limit} bytes; keep data in files of their own", path.display())]
    TooLarge {
        /// Which file.
        path: PathBuf,
        /// What is read at most.
        limit: u64,
    },
    /// Something in it is wrong: all that was found, in the order of the file.
    #[error("{}", Listing(path, findings))]
    Invalid {
        /// Which file.
        path: PathBuf,
        /// At least one.
        findings: Vec<Finding>,
    },
}

/// A place in the file, both counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Position {
    /// The line.
    pub(crate) line: u64,
    /// The column, in characters.
    pub(crate) column: u64,
}

/// One thing that is wrong, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Finding {
    /// Where it stands, when that is known.
    pub(crate) position: Option<Position>,
    /// What it is.
    pub(crate) fault: FileFault,
}

/// What can be wrong with a file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum FileFault {
    /// It is no YAML, or more of it than is read.
    #[error("not readable as YAML: {0}")]
    Syntax(String),
    /// A value is wrong.
    #[error(transparent)]
    Value(#[from] Problem),
}

impl ConfigError {
    /// Each problem as a sentence for a client: with the file's name, without its folder, which is the host's own business.
    pub(crate) fn problems(&self) -> Vec<String> {
        let name = |path: &PathBuf| {
            path.file_name().map_or_else(
                || "the file".to_owned(),
                |name| name.to_string_lossy().into_owned(),
            )
        };
        match self {
            Self::Read { path, source } => vec![format!("cannot read {}: {source}", name(path))],
            Self::TooLarge { path, limit } => {
                vec![format!("{} is larger than {limit} bytes", name(path))]
            }
            Self::Invalid { path, findings } => findings
                .iter()
                .take(LISTED_MAX)
                .map(|Finding { position, fault }| match position {
                    Some(Position { line, column }) => {
                        format!("{}:{line}:{column}: {fault}", name(path))
                    }
                    None => format!("{}: {fault}", name(path)),
                })
                .collect(),
        }
    }
}

struct Listing<'a>(&'a PathBuf, &'a [Finding]);

impl fmt::Display for Listing<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(path, findings) = self;
        let count = findings.len();
        write!(
            f,
            "{} has {count} {}:",
            path.display(),
            if count == 1 { "error" } else { "errors" }
        )?;
        for Finding { position, fault } in findings.iter().take(LISTED_MAX) {
            write!(f, "\n  {}", path.display())?;
            if let Some(Position { line, column }) = position {
                write!(f, ":{line}:{column}")?;
            }
            write!(f, ": {fault}")?;
        }
        match count.saturating_sub(LISTED_MAX) {
            0 => Ok(()),
            more => write!(f, "\n  and {more} more"),
        }
    }
}
