//! What is wrong with a declaration, and where.

use std::fmt;

use crate::graph::GraphError;
use crate::name::NameError;
use crate::quantity::QuantityError;

/// How much of a written value or key a message repeats: the input is not bounded, what is said of it is.
const SHOWN_MAX: usize = 80;

/// The keys that lead to a value: `entries.writer.retry.initial`, `entries.writer.command[2]`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct KeyPath(Vec<Segment>);

/// One step of a [`KeyPath`].
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Segment {
    /// Under this key of a map.
    Key(String),
    /// At this place of a list, counted from 0.
    Index(usize),
}

impl KeyPath {
    /// The path of the whole document.
    pub fn root() -> Self {
        Self::default()
    }

    /// The path of what is under `key`.
    #[must_use]
    pub fn key(&self, key: &str) -> Self {
        self.with(Segment::Key(key.to_owned()))
    }

    /// The path of the list's item number `index`, counted from 0.
    #[must_use]
    pub fn index(&self, index: usize) -> Self {
        self.with(Segment::Index(index))
    }

    /// Its steps, from the root on.
    pub fn segments(&self) -> &[Segment] {
        &self.0
    }

    fn with(&self, segment: Segment) -> Self {
        let mut segments = self.0.clone();
        segments.push(segment);
        Self(segments)
    }
}

impl fmt::Display for KeyPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("the document");
        }
        for (position, segment) in self.0.iter().enumerate() {
            match segment {
                Segment::Index(index) => write!(f, "[{index}]")?,
                Segment::Key(key) => {
                    if position > 0 {
                        f.write_str(".")?;
                    }
                    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
                    if !key.is_empty() && key.len() <= SHOWN_MAX && key.chars().all(plain) {
                        f.write_str(key)?;
                    } else {
                        write!(f, "{}", Shown(key))?;
                    }
                }
            }
        }
        Ok(())
    }
}

/// A text in quotes, cut to a bounded length, control characters escaped.
#[derive(Debug, Clone, Copy)]
pub struct Shown<'a>(pub &'a str);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self
            .0
            .char_indices()
            .nth(SHOWN_MAX)
            .and_then(|(cut, _)| self.0.get(..cut))
        {
            None => write!(f, "{:?}", self.0),
            Some(start) => write!(f, "{start:?}…"),
        }
    }
}

/// What is wrong with one value. Each sentence follows the key and ends with the fix.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// Nothing by this name is known here.
    #[error("unknown key; {}", known_keys(meant, known))]
    UnknownKey {
        /// The known key that was probably meant.
        meant: Option<&'static str>,
        /// All known ones.
        known: Vec<&'static str>,
    },
    /// A key that must be there is not.
    #[error("is missing; {fix}")]
    Missing {
        /// What to do.
        fix: &'static str,
    },
    /// A value of another kind.
    #[error("{found} can't be used here; write {expected}")]
    WrongKind {
        /// What is there; its value too, where that may be shown.
        found: String,
        /// What should be.
        expected: &'static str,
    },
    /// No duration, or no size.
    #[error(transparent)]
    Quantity(#[from] QuantityError),
    /// No name.
    #[error(transparent)]
    Name(#[from] NameError),
    /// Part of the format, but not of this version. Refused, since what is declared must hold.
    #[error("{what}not available in this version yet; {fix}")]
    NotAvailable {
        /// The value and a verb, or nothing but the verb.
        what: String,
        /// What to do.
        fix: &'static str,
    },
    /// More than a bound allows.
    #[error("{found} {what} are more than the {limit} that are allowed; {fix}")]
    TooMuch {
        /// What is counted.
        what: &'static str,
        /// How much there is.
        found: usize,
        /// How much there may be.
        limit: usize,
        /// What to do.
        fix: &'static str,
    },
    /// A value of the right kind that means nothing here, with the reason and the fix.
    #[error("{0}")]
    Refused(String),
    /// The services of the entries do not fit together (SUP-03).
    #[error(transparent)]
    Graph(#[from] GraphError),
}

fn known_keys(meant: &Option<&'static str>, known: &[&'static str]) -> String {
    match meant {
        Some(meant) => format!("did you mean {meant}?"),
        None => format!("known here: {}", known.join(", ")),
    }
}

/// One thing that is wrong with a document.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {fault}")]
pub struct Problem {
    /// Where.
    pub path: KeyPath,
    /// What.
    pub fault: Fault,
}

/// All that was found so far.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Problems(Vec<Problem>);

impl Problems {
    /// Adds one.
    pub fn report(&mut self, path: KeyPath, fault: impl Into<Fault>) {
        self.0.push(Problem {
            path,
            fault: fault.into(),
        });
    }

    /// Whether nothing is wrong.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds what somebody else found.
    pub fn append(&mut self, mut other: Self) {
        self.0.append(&mut other.0);
    }

    /// All of them, in the order they were found.
    pub fn into_vec(self) -> Vec<Problem> {
        self.0
    }
}
