//! What a handler fails with.

use std::error::Error;
use std::fmt;

use serde_json::Value;
use treewarden_protocol::{ErrorKind, ErrorObject};

/// An error as the peer reads it: a kind, a sentence, and details.
///
/// Any error converts into one of kind `application` through `?`, its causes included. So that this is possible, `Failure`
/// itself does not implement [`Error`].
#[derive(Clone, PartialEq)]
pub struct Failure(ErrorObject);

impl Failure {
    /// A failure of a kind.
    #[must_use]
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self(ErrorObject::new(kind, message))
    }

    /// The plugin's own code failed.
    #[must_use]
    pub fn application(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Application, message)
    }

    /// The request itself is wrong.
    #[must_use]
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Invalid, message)
    }

    /// The same failure with one more member in `data`.
    #[must_use]
    pub fn with(self, key: &str, value: impl Into<Value>) -> Self {
        Self(self.0.with(key, value))
    }

    /// What kind of failure.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.0.kind()
    }

    /// The sentence.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// All of it.
    #[must_use]
    pub fn object(&self) -> &ErrorObject {
        &self.0
    }

    pub(crate) fn from_object(object: ErrorObject) -> Self {
        Self(object)
    }
}

impl<E: Error> From<E> for Failure {
    fn from(error: E) -> Self {
        let mut message = error.to_string();
        let mut cause = error.source();
        while let Some(error) = cause {
            message.push_str(": ");
            message.push_str(&error.to_string());
            cause = error.source();
        }
        Self::application(message)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
