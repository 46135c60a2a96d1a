//! What an operator wants of an entry (SUP-39).

pub use treewarden_model::entry::Desired as DesiredState;
pub use treewarden_model::fingerprint::Fingerprint;

/// A desired state and the declaration it was said for (SUP-39: a changed declaration ends a `stop`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Desired {
    /// What is wanted.
    pub state: DesiredState,
    /// Of which declaration.
    pub declared: Fingerprint,
}
