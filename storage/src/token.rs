//! Tokens of the HTTP API, as far as they are kept: never the token, only its hash.

use std::fmt;

use treewarden_model::time::WallTime;
use uuid::Uuid;

/// Longest label and operation name, in bytes, and most operations of one token.
pub(crate) const LABEL_MAX: usize = 1024;
pub(crate) const OPERATION_MAX: usize = 128;
pub(crate) const OPERATIONS_MAX: usize = 256;

/// Names a token; shown to people.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TokenId(pub Uuid);

impl fmt::Display for TokenId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// SHA-256 of a token's text. Not shown by `Debug`, so that it reaches no log.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct TokenHash(pub [u8; 32]);

impl fmt::Debug for TokenHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TokenHash(…)")
    }
}

/// What a token may do.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Operations {
    /// Everything its user may.
    All,
    /// These only. At most 256, each at most 128 bytes.
    Only(Vec<String>),
}

/// A token's row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    /// Its id, unique.
    pub id: TokenId,
    /// Hash of its text, unique.
    pub hash: TokenHash,
    /// What people call it; at most 1 KiB.
    pub label: String,
    /// Whose it is.
    pub user: String,
    /// What it may do.
    pub operations: Operations,
    /// When it was made.
    pub created: WallTime,
    /// When it ends; `None`: never. The store keeps ended tokens; the caller refuses them.
    pub expires: Option<WallTime>,
}
