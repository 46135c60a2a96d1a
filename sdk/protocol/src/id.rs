//! Identifiers on the wire.

use std::fmt;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

/// Longest id of a request in bytes, quotes included: a receiver keeps the id while the request is open.
pub const MAX_ID: usize = 256;

macro_rules! number {
    ($(#[$meta:meta])* $name:ident) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(u64);

        impl $name {
            /// Wraps a number read from elsewhere.
            #[must_use]
            pub const fn new(number: u64) -> Self {
                Self(number)
            }

            /// The plain number.
            #[must_use]
            pub const fn get(self) -> u64 {
                self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

number! {
    /// Fencing token of an instance: 0 outside any node, 1 where it is fixed, growing with each launch on a runner (SUP-13, SUP-14).
    Generation
}
number! {
    /// The host's own number of a launch (SUP-16).
    LaunchNumber
}
number! {
    /// Id of a request sent by a host, or by one of the SDKs.
    RequestId
}

/// The id of a received request or response, as it stands in the line: a string or a number.
///
/// A peer may choose any; only its text is compared and echoed.
#[derive(Clone, Copy)]
pub struct Id<'a>(&'a RawValue);

impl<'a> Id<'a> {
    /// Accepts a JSON string or number of at most [`MAX_ID`] bytes.
    pub(crate) fn from_raw(raw: &'a RawValue) -> Option<Self> {
        let text = raw.get();
        let first = text.as_bytes().first()?;
        let kind = matches!(first, b'"' | b'-' | b'0'..=b'9');
        (kind && text.len() <= MAX_ID).then_some(Self(raw))
    }

    /// The id as JSON text.
    #[must_use]
    pub fn as_json(self) -> &'a str {
        self.0.get()
    }

    /// The id as one of our own, or `None` for an id we never give.
    #[must_use]
    pub fn request_id(self) -> Option<RequestId> {
        self.as_json().parse().ok().map(RequestId)
    }

    /// A copy that outlives the line.
    #[must_use]
    pub fn to_owned_id(self) -> OwnedId {
        OwnedId(self.0.to_owned())
    }
}

impl PartialEq for Id<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.as_json() == other.as_json()
    }
}

impl fmt::Debug for Id<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Id({})", self.as_json())
    }
}

impl Serialize for Id<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Id<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = <&'a RawValue>::deserialize(deserializer)?;
        Id::from_raw(raw)
            .ok_or_else(|| D::Error::custom("an id is a string or a number of at most 256 bytes"))
    }
}

/// An [`Id`] that owns its text.
#[derive(Clone)]
pub struct OwnedId(Box<RawValue>);

impl OwnedId {
    /// The id to answer with.
    #[must_use]
    pub fn as_id(&self) -> Id<'_> {
        Id(&self.0)
    }
}

impl fmt::Debug for OwnedId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_id().fmt(f)
    }
}
