//! What can go wrong, with what to do about it.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use serde::Deserialize;

use super::words::plain;

/// A problem as the node tells it (RFC 9457).
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Problem {
    /// The stable code.
    pub(super) code: String,
    /// A sentence about this one.
    pub(super) detail: String,
    /// Finds the request in the node's log.
    pub(super) request_id: Option<String>,
    /// The operation that is missing.
    pub(super) operation: Option<String>,
}

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
pub(super) enum ClientError {
    /// There is no token.
    #[error("the token in {} can't be read: {error}. It is looked for in --token-file, then in TREEWARDEN_TOKEN, then in ./treewarden-data/admin.token, where a node writes it at its first start", path.display())]
    TokenFile {
        /// Where it was looked for.
        path: PathBuf,
        /// Why it is not there.
        error: io::Error,
    },
    /// The token is empty, or can't be a token.
    #[error("{from} holds no token")]
    NoToken {
        /// Where it came from.
        from: String,
    },
    /// Not an address of a node.
    #[error("\"{0}\" is no address of a node: write http://HOST:PORT (--url or TREEWARDEN_URL)")]
    Url(String),
    /// Nobody answers there.
    #[error(
        "the node at {url} can't be reached: {why}. Does it run (treewarden serve)? Is this its address (--url or TREEWARDEN_URL)?"
    )]
    Unreachable {
        /// Where.
        url: String,
        /// Why.
        why: String,
    },
    /// The connection broke before the answer.
    #[error(
        "the node at {url} did not answer: {why}. Whether it did what was asked is not known; `treewarden status` tells"
    )]
    Broken {
        /// Where.
        url: String,
        /// Why.
        why: String,
    },
    /// The answer took too long.
    #[error("no answer within {}; what was asked for goes on, `treewarden status` shows it; --timeout waits longer", humantime::format_duration(*.0))]
    Late(Duration),
    /// Something answered that is no node.
    #[error("what answers at {url} is no treewarden node, or one of another version: {why}")]
    NotANode {
        /// Where.
        url: String,
        /// What is odd.
        why: String,
    },
    /// The node refused.
    #[error("{}", told(.0))]
    Problem(Box<Problem>),
    /// The name is short for more than one entry.
    #[error("\"{prefix}\" is short for more than one entry: {}", names.join(", "))]
    Ambiguous {
        /// What was written.
        prefix: String,
        /// What it may mean.
        names: Vec<String>,
    },
    /// stdout was closed.
    #[error("the output is closed")]
    Closed,
    /// stdout can't be written.
    #[error("the answer can't be written: {0}")]
    Write(io::Error),
}

impl ClientError {
    /// Whether the node refused with this code.
    pub(super) fn is(&self, code: &str) -> bool {
        matches!(self, Self::Problem(problem) if problem.code == code)
    }
}

fn told(problem: &Problem) -> String {
    let mut text = format!("{} ({})", plain(&problem.detail), plain(&problem.code));
    let advice = match problem.code.as_str() {
        "not_authenticated" => {
            Some("is this the token of this node? see --token-file and TREEWARDEN_TOKEN")
        }
        "entry_not_found" => Some("`treewarden entry ls` lists the entries"),
        "entry_failed" => Some(
            "`treewarden entry logs` shows what it wrote, `treewarden entry show` how it ended",
        ),
        "termination_unconfirmed" => Some("`treewarden entry show` says which process to look at"),
        "host_not_allowed" => Some("use --url with a loopback name, or add the name to node.hosts"),
        _ => None,
    };
    if let Some(advice) = advice {
        text.push_str("\n  ");
        text.push_str(advice);
    }
    if problem.code == "internal_error" || problem.code == "store_failed" {
        let id = problem.request_id.as_deref().map(plain).unwrap_or_default();
        text.push_str(&format!("\n  the node's log says more about request {id}"));
    }
    text
}
