//! `shutdown` and `$/cancel`.

use serde::{Deserialize, Serialize};

use crate::id::Id;

/// Parameters of `shutdown`. The answer is null, after the finalizers; an error names the finalizers that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShutdownParams {
    /// Time the finalizers have, counted from receipt (SUP-06).
    pub timeout_ms: u64,
}

/// Parameters of `$/cancel`: the caller waits no longer. The request is still to be answered, since only an answer frees its permit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct CancelParams<'a> {
    /// The request.
    #[serde(borrow)]
    pub id: Id<'a>,
}
