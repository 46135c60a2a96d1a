//! Names of entries and services.

use std::borrow::Borrow;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// Longest name, in bytes.
pub const NAME_MAX: usize = 63;

/// Prefix that only the node itself may use (managed workers on runners).
pub const RESERVED_PREFIX: &str = "managed-";

/// Why a text is no name.
#[derive(Debug, Clone, PartialEq, Eq, Hash, thiserror::Error)]
pub enum NameError {
    /// Nothing there.
    #[error("a name must not be empty")]
    Empty,
    /// Over [`NAME_MAX`] bytes.
    #[error("name \"{0}\" is longer than {NAME_MAX} characters")]
    TooLong(String),
    /// A character outside the grammar.
    #[error("name \"{0}\" must consist of a-z, 0-9 and '-' and begin with a letter or digit")]
    Grammar(String),
    /// The node keeps this prefix for itself.
    #[error("name \"{0}\" begins with \"{RESERVED_PREFIX}\", which is reserved")]
    Reserved(String),
}

/// Checks `[a-z0-9][a-z0-9-]{0,62}` and the reserved prefix.
fn check(text: &str) -> Result<(), NameError> {
    // What an error repeats is bounded: the input is not.
    let shown = || text.chars().take(NAME_MAX + 1).collect::<String>();
    if text.is_empty() {
        return Err(NameError::Empty);
    }
    if text.len() > NAME_MAX {
        return Err(NameError::TooLong(shown()));
    }
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    if !text.starts_with(plain) || !text.chars().all(|c| plain(c) || c == '-') {
        return Err(NameError::Grammar(shown()));
    }
    if text.starts_with(RESERVED_PREFIX) {
        return Err(NameError::Reserved(shown()));
    }
    Ok(())
}

macro_rules! name_type {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(Arc<str>);

        impl $name {
            /// Reads a name; see [`NameError`] for what is refused.
            ///
            /// # Errors
            /// The text is empty, too long, outside the grammar, or reserved.
            pub fn parse(text: &str) -> Result<Self, NameError> {
                check(text)?;
                Ok(Self(text.into()))
            }

            /// The name as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{:?}", &*self.0)
            }
        }

        impl TryFrom<String> for $name {
            type Error = NameError;
            fn try_from(text: String) -> Result<Self, NameError> {
                Self::parse(&text)
            }
        }

        impl From<$name> for String {
            fn from(name: $name) -> Self {
                (*name.0).to_owned()
            }
        }

        impl Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }
    };
}

name_type! {
    /// Name of an entry, unique in a node.
    EntryName
}
name_type! {
    /// Name of a service that one entry provides and others use.
    ServiceName
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn names_follow_the_grammar() {
        for good in ["a", "0", "ledger", "writer-eu", &"x".repeat(63)] {
            assert!(EntryName::parse(good).is_ok(), "{good}");
        }
        for bad in [
            "",
            "-a",
            "A",
            "a_b",
            "a b",
            "ä",
            "managed-x",
            &"x".repeat(64),
            "a\n",
        ] {
            assert!(EntryName::parse(bad).is_err(), "{bad:?}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in any::<String>()) {
            if let Ok(name) = ServiceName::parse(&text) {
                prop_assert_eq!(name.as_str(), text);
            }
        }
    }
}
