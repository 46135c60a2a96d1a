//! The rows: structs of their own, so that a change in the model never changes what is on disk unnoticed.

use serde::{Deserialize, Serialize};
use treewarden_model::id::{
    Generation, Instance, LaunchNumber, LaunchOrdinal, NodeId, SessionNumber,
};
use treewarden_model::name::EntryName;
use treewarden_model::time::WallTime;
use uuid::Uuid;

use super::{CodecError, Row};
use crate::desired::{Desired, DesiredState, Fingerprint};
use crate::store::StoredNumbers;
use crate::token::{Operations, Token, TokenHash, TokenId};

mod stop;
pub(crate) use stop::{StopRow, StopsRow};

/// [`StoredNumbers`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct NumbersRow {
    node: [u8; 16],
    session: u64,
    ordinal: u64,
    launch_base: u64,
}

impl Row for NumbersRow {
    const VERSION: u8 = 1;
}

impl From<&StoredNumbers> for NumbersRow {
    fn from(numbers: &StoredNumbers) -> Self {
        Self {
            node: *numbers.node.0.as_bytes(),
            session: numbers.session.0,
            ordinal: numbers.ordinal.0,
            launch_base: numbers.launch_base.get(),
        }
    }
}

impl From<NumbersRow> for StoredNumbers {
    fn from(row: NumbersRow) -> Self {
        Self {
            node: NodeId(Uuid::from_bytes(row.node)),
            session: SessionNumber(row.session),
            ordinal: LaunchOrdinal(row.ordinal),
            launch_base: LaunchNumber::from_stored(row.launch_base),
        }
    }
}

/// A number alone: the newest group, an entry's last launch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct NumberRow(pub(crate) u64);

impl Row for NumberRow {
    const VERSION: u8 = 1;
}

/// A token's id under its hash.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TokenHashRow(pub(crate) [u8; 16]);

impl Row for TokenHashRow {
    const VERSION: u8 = 1;
}

/// [`Desired`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct DesiredRow {
    state: u8,
    declared: [u8; 32],
}

impl Row for DesiredRow {
    const VERSION: u8 = 1;
}

impl From<&Desired> for DesiredRow {
    fn from(desired: &Desired) -> Self {
        let state = match desired.state {
            DesiredState::Running => 1,
            DesiredState::Stopped => 2,
        };
        Self {
            state,
            declared: *desired.declared.as_bytes(),
        }
    }
}

impl TryFrom<DesiredRow> for Desired {
    type Error = CodecError;

    fn try_from(row: DesiredRow) -> Result<Self, CodecError> {
        let state = match row.state {
            1 => DesiredState::Running,
            2 => DesiredState::Stopped,
            _ => return Err(CodecError::Value("the desired state")),
        };
        Ok(Self {
            state,
            declared: Fingerprint::from_stored(row.declared),
        })
    }
}

/// [`Token`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TokenRow {
    id: [u8; 16],
    hash: [u8; 32],
    label: String,
    user: String,
    /// `None`: all.
    operations: Option<Vec<String>>,
    created: u64,
    expires: Option<u64>,
}

impl Row for TokenRow {
    const VERSION: u8 = 1;
}

impl From<&Token> for TokenRow {
    fn from(token: &Token) -> Self {
        Self {
            id: *token.id.0.as_bytes(),
            hash: token.hash.0,
            label: token.label.clone(),
            user: token.user.clone(),
            operations: match &token.operations {
                Operations::All => None,
                Operations::Only(operations) => Some(operations.clone()),
            },
            created: token.created.0,
            expires: token.expires.map(|at| at.0),
        }
    }
}

impl From<TokenRow> for Token {
    fn from(row: TokenRow) -> Self {
        Self {
            id: TokenId(Uuid::from_bytes(row.id)),
            hash: TokenHash(row.hash),
            label: row.label,
            user: row.user,
            operations: row.operations.map_or(Operations::All, Operations::Only),
            created: WallTime(row.created),
            expires: row.expires.map(WallTime),
        }
    }
}

pub(crate) fn entry_name(text: &str) -> Result<EntryName, CodecError> {
    EntryName::parse(text).map_err(|_| CodecError::Value("the entry's name"))
}

pub(crate) fn generation(number: u64) -> Result<Generation, CodecError> {
    use serde::de::IntoDeserializer;
    use serde::de::value::{Error, U64Deserializer};
    let number: U64Deserializer<Error> = number.into_deserializer();
    Generation::deserialize(number).map_err(|_| CodecError::Value("the generation"))
}

pub(crate) fn instance(id: String, number: u64) -> Result<Instance, CodecError> {
    Ok(Instance {
        id,
        generation: generation(number)?,
    })
}
