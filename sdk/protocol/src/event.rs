//! `event.deliver`.

use std::borrow::Cow;

use serde::de::Error as _;
use serde::ser::{Error as _, SerializeStruct};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::context::InvocationContext;

/// Parameters of `event.deliver`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct EventDeliver<'a> {
    /// The contribution's handler.
    #[serde(borrow)]
    pub handler: Cow<'a, str>,
    /// Whom it runs for.
    pub context: InvocationContext,
    /// The event.
    #[serde(borrow)]
    pub delivery: Delivery<'a>,
}

/// One delivery of an event. Deliveries repeat until one is acknowledged: the event id tells.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Delivery<'a> {
    /// The event; the same at every attempt.
    #[serde(borrow)]
    pub event_id: Cow<'a, str>,
    /// The contract its payload follows.
    #[serde(borrow)]
    pub contract_id: Cow<'a, str>,
    /// The contract's version.
    #[serde(borrow)]
    pub contract_version: Cow<'a, str>,
    /// The event or invocation that caused it.
    #[serde(borrow, default)]
    pub causation_id: Option<Cow<'a, str>>,
    /// What it belongs to as a whole.
    #[serde(borrow, default)]
    pub correlation_id: Option<Cow<'a, str>>,
    /// 1 for the first attempt.
    pub attempt: u32,
    /// At most 64 KiB, by the contract's schema.
    #[serde(borrow)]
    pub payload: &'a RawValue,
}

/// Payload of `model_definition.committed@v1`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelDefinitionCommitted {
    /// The committed model definition.
    pub model_id: String,
    /// `committed`.
    pub status: String,
    /// Null.
    #[serde(default)]
    pub result_reference: Option<String>,
}

/// An event to publish, of a contract of the plugin's own package.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Publication {
    /// The contract.
    pub contract_id: String,
    /// Its version.
    pub contract_version: String,
    /// By its schema.
    pub payload: Value,
}

/// A row to write.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Upsert {
    /// A collection of the plugin's own package.
    pub collection_code: String,
    /// Every field, the key included.
    pub values: Map<String, Value>,
}

/// A change to the plugin's own collections.
#[derive(Clone, Debug, PartialEq)]
pub enum OwnedOperation {
    /// Writes a row, over an older one of the same key.
    Upsert(Upsert),
    /// An operation this version does not know. A host refuses it, since ignoring it would lose data.
    Unknown,
}

/// Result of `event.deliver`.
#[derive(Clone, Debug, PartialEq)]
pub enum EventOutcome {
    /// Handled; there is nothing more to do.
    Acknowledged,
    /// Handled; publish this, once.
    Publish(Publication),
    /// Handled; apply these together, once.
    ApplyOwned(Vec<OwnedOperation>),
    /// Not handled.
    Failed {
        /// A short stable word for why.
        classification: String,
    },
    /// An outcome this version does not know. A host takes it as a failure.
    Other(String),
}

#[derive(Deserialize)]
struct WireOperation {
    upsert: Option<Upsert>,
}

impl<'de> Deserialize<'de> for OwnedOperation {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(WireOperation::deserialize(deserializer)?
            .upsert
            .map_or(Self::Unknown, Self::Upsert))
    }
}

impl Serialize for OwnedOperation {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Upsert(upsert) => {
                let mut operation = serializer.serialize_struct("OwnedOperation", 1)?;
                operation.serialize_field("upsert", upsert)?;
                operation.end()
            }
            Self::Unknown => Err(S::Error::custom("an unknown operation can't be written")),
        }
    }
}

#[derive(Deserialize)]
struct WireOutcome {
    outcome: String,
    publication: Option<Publication>,
    operations: Option<Vec<OwnedOperation>>,
    classification: Option<String>,
}

impl<'de> Deserialize<'de> for EventOutcome {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let wire = WireOutcome::deserialize(deserializer)?;
        match wire.outcome.as_str() {
            "acknowledged" => Ok(Self::Acknowledged),
            "publish" => wire
                .publication
                .map(Self::Publish)
                .ok_or_else(|| D::Error::missing_field("publication")),
            "apply_owned" => wire
                .operations
                .map(Self::ApplyOwned)
                .ok_or_else(|| D::Error::missing_field("operations")),
            "failed" => wire
                .classification
                .map(|classification| Self::Failed { classification })
                .ok_or_else(|| D::Error::missing_field("classification")),
            _ => Ok(Self::Other(wire.outcome)),
        }
    }
}

impl Serialize for EventOutcome {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut outcome = serializer.serialize_struct("EventOutcome", 2)?;
        match self {
            Self::Acknowledged => outcome.serialize_field("outcome", "acknowledged")?,
            Self::Publish(publication) => {
                outcome.serialize_field("outcome", "publish")?;
                outcome.serialize_field("publication", publication)?;
            }
            Self::ApplyOwned(operations) => {
                outcome.serialize_field("outcome", "apply_owned")?;
                outcome.serialize_field("operations", operations)?;
            }
            Self::Failed { classification } => {
                outcome.serialize_field("outcome", "failed")?;
                outcome.serialize_field("classification", classification)?;
            }
            Self::Other(name) => outcome.serialize_field("outcome", name)?,
        }
        outcome.end()
    }
}
