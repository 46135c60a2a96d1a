//! The members of a message, found but not parsed.

use std::fmt;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

/// A member the protocol knows.
#[derive(Clone, Copy)]
pub(super) enum Member {
    Version,
    Id,
    Method,
    Params,
    Result,
    Error,
}

const NAMES: [&str; 6] = ["jsonrpc", "id", "method", "params", "result", "error"];

/// Where each known member stands in the line.
#[derive(Default)]
pub(super) struct Envelope<'a> {
    members: [Option<&'a RawValue>; 6],
    duplicate: Option<&'static str>,
}

impl<'a> Envelope<'a> {
    pub(super) fn get(&self, member: Member) -> Option<&'a RawValue> {
        self.members.get(member as usize).copied().flatten()
    }

    pub(super) fn duplicate(&self) -> Option<&'static str> {
        self.duplicate
    }
}

/// Index of a known member, or `None` for an unknown one.
struct Key(Option<usize>);

impl<'de> Deserialize<'de> for Key {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct KeyVisitor;
        impl Visitor<'_> for KeyVisitor {
            type Value = Key;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a member name")
            }
            fn visit_str<E>(self, name: &str) -> Result<Key, E> {
                Ok(Key(NAMES.iter().position(|known| *known == name)))
            }
        }
        deserializer.deserialize_identifier(KeyVisitor)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Envelope<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct EnvelopeVisitor;
        impl<'de> Visitor<'de> for EnvelopeVisitor {
            type Value = Envelope<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a message")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Envelope<'de>, A::Error> {
                let mut envelope = Envelope::default();
                while let Some(Key(index)) = map.next_key()? {
                    let slot = index.and_then(|index| {
                        Some((envelope.members.get_mut(index)?, NAMES.get(index)?))
                    });
                    let Some((slot, name)) = slot else {
                        map.next_value::<IgnoredAny>()?;
                        continue;
                    };
                    if slot.replace(map.next_value()?).is_some() {
                        envelope.duplicate = Some(name);
                    }
                }
                Ok(envelope)
            }
        }
        deserializer.deserialize_map(EnvelopeVisitor)
    }
}
