//! The two marks by which a launch's processes are found again (SUP-32).
//!
//! * A **mark** in the process table: the resource limit `RLIMIT_RTTIME`, soft = hard = 2^50 + (node tag << 30) + ordinal
//!   microseconds. It limits nothing (2^50 µs are 35 years of real-time scheduling), every descendant inherits it, it
//!   survives an emptied environment, and `/proc/PID/limits` shows it to everyone.
//! * A **launch text** in the environment: `TREEWARDEN_LAUNCH=<node>/<entry>/<launch number>`.
//!
//! Both hold against careless plugins, not against hostile ones: a process may change its own environment and lower its
//! own limits.

use std::fmt;

use serde::{Deserialize, Serialize};

const BASE: u64 = 1 << 50;
const NODE_BITS: u32 = 20;
const ORDINAL_BITS: u32 = 30;

/// The name of the environment variable that carries the [`LaunchText`].
pub const LAUNCH_VARIABLE: &str = "TREEWARDEN_LAUNCH";

/// Which node a marked process belongs to: 20 bits of the node's id. Two nodes of one machine share a tag once in a million.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct NodeTag(u32);

impl NodeTag {
    /// Takes the lowest 20 bits.
    #[must_use]
    pub fn new(bits: u32) -> Self {
        Self(bits & ((1 << NODE_BITS) - 1))
    }

    /// Takes the first 20 bits of a node's id (random in a version 4 UUID).
    #[must_use]
    pub fn from_node_id(id: &[u8; 16]) -> Self {
        let [first, second, third, ..] = *id;
        Self::new(u32::from_be_bytes([0, first, second, third]) >> 4)
    }

    /// The 20 bits.
    #[must_use]
    pub fn get(self) -> u32 {
        self.0
    }
}

/// The number of a launch within one node, over all its entries: 30 bits, wrapping. It names a launch between node and
/// keeper; two launches alive at once never share one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Ordinal(u64);

impl Ordinal {
    /// Takes the lowest 30 bits.
    #[must_use]
    pub fn new(number: u64) -> Self {
        Self(number & ((1 << ORDINAL_BITS) - 1))
    }

    /// The 30 bits.
    #[must_use]
    pub fn get(self) -> u64 {
        self.0
    }

    /// The ordinal after this one, wrapping to zero.
    #[must_use]
    pub fn next(self) -> Self {
        Self::new(self.0 + 1)
    }
}

impl fmt::Display for Ordinal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

/// The mark of one launch in the process table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Mark {
    /// The node that launched.
    pub node: NodeTag,
    /// Which of its launches.
    pub ordinal: Ordinal,
}

impl Mark {
    /// The value of the resource limit, in microseconds.
    #[must_use]
    pub fn encode(self) -> u64 {
        BASE + (u64::from(self.node.0) << ORDINAL_BITS) + self.ordinal.0
    }

    /// Reads a limit's value back; `None` for a value that is no mark.
    #[must_use]
    pub fn decode(value: u64) -> Option<Self> {
        let bits = value.checked_sub(BASE).filter(|bits| *bits < BASE)?;
        let node = u32::try_from(bits >> ORDINAL_BITS).ok()?;
        Some(Self {
            node: NodeTag::new(node),
            ordinal: Ordinal::new(bits),
        })
    }
}

/// The text by which a launch is known in its processes' environment: `<node>/<entry>/<launch number>`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct LaunchText(pub String);

impl LaunchText {
    /// The part before the first `/`: the node's id.
    #[must_use]
    pub fn node(&self) -> &str {
        self.0.split('/').next().unwrap_or_default()
    }
}

impl fmt::Display for LaunchText {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SUP-32: a mark survives the round trip over its whole range, and no ordinary limit is taken for one.
    #[test]
    fn mark_round_trips_and_other_limits_are_no_marks() {
        for (node, ordinal) in [
            (0, 0),
            (1, 2),
            ((1 << 20) - 1, (1 << 30) - 1),
            (0xabcde, 77),
        ] {
            let mark = Mark {
                node: NodeTag::new(node),
                ordinal: Ordinal::new(ordinal),
            };
            assert_eq!(Mark::decode(mark.encode()), Some(mark));
        }
        for value in [0, 1, 200_000, BASE - 1, 2 * BASE, u64::MAX] {
            assert_eq!(Mark::decode(value), None);
        }
    }

    #[test]
    fn ordinal_wraps_at_thirty_bits() {
        assert_eq!(Ordinal::new((1 << 30) - 1).next(), Ordinal::new(0));
    }

    #[test]
    fn node_tag_is_the_first_twenty_bits_of_the_id() {
        let id = [0xab, 0xcd, 0xef, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13];
        assert_eq!(NodeTag::from_node_id(&id).get(), 0xabcde);
    }
}
