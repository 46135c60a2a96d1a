//! Keys: a big-endian prefix that says the kind, then the key of that kind, so that a kind's rows lie together and in order.

use treewarden_model::name::EntryName;
use uuid::Uuid;

use crate::codec::{CodecError, rows};
use crate::token::{TokenHash, TokenId};

/// Kinds of rows. The numbers are what lies on disk.
pub(super) const GROUP: [u8; 2] = [0, 1];
pub(super) const NUMBERS: [u8; 2] = [0, 2];
pub(super) const DESIRED: [u8; 2] = [1, 0];
pub(super) const STOPS: [u8; 2] = [1, 1];
pub(super) const LAST_LAUNCH: [u8; 2] = [1, 2];
pub(super) const TOKEN: [u8; 2] = [2, 0];
pub(super) const TOKEN_HASH: [u8; 2] = [2, 1];

/// A row's whole key.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key(pub(super) Vec<u8>);

impl Key {
    fn new(kind: [u8; 2], rest: &[u8]) -> Self {
        Self([&kind, rest].concat())
    }

    pub(super) fn group() -> Self {
        Self::new(GROUP, &[])
    }

    pub(super) fn numbers() -> Self {
        Self::new(NUMBERS, &[])
    }

    pub(super) fn desired(entry: &EntryName) -> Self {
        Self::new(DESIRED, entry.as_str().as_bytes())
    }

    pub(super) fn stops(entry: &EntryName) -> Self {
        Self::new(STOPS, entry.as_str().as_bytes())
    }

    pub(super) fn last_launch(entry: &EntryName) -> Self {
        Self::new(LAST_LAUNCH, entry.as_str().as_bytes())
    }

    pub(super) fn token(id: TokenId) -> Self {
        Self::new(TOKEN, id.0.as_bytes())
    }

    pub(super) fn token_hash(hash: &TokenHash) -> Self {
        Self::new(TOKEN_HASH, &hash.0)
    }
}

/// The kind's name and the key, for people. Hashes of tokens are not shown.
pub(super) fn shown(key: &[u8]) -> String {
    let Some((kind, rest)) = key.split_first_chunk::<2>() else {
        return format!("{key:02x?}");
    };
    match *kind {
        GROUP => "group".to_owned(),
        NUMBERS => "numbers".to_owned(),
        DESIRED => format!("desired/{}", String::from_utf8_lossy(rest)),
        STOPS => format!("stops/{}", String::from_utf8_lossy(rest)),
        LAST_LAUNCH => format!("last_launch/{}", String::from_utf8_lossy(rest)),
        TOKEN => format!("token/{}", Uuid::from_slice(rest).unwrap_or_default()),
        TOKEN_HASH => "token_hash/…".to_owned(),
        _ => format!("{key:02x?}"),
    }
}

fn rest(key: &[u8]) -> &[u8] {
    key.get(2..).unwrap_or_default()
}

pub(super) fn entry(key: &[u8]) -> Result<EntryName, CodecError> {
    let name = std::str::from_utf8(rest(key)).map_err(|_| CodecError::Value("the entry's name"))?;
    rows::entry_name(name)
}

pub(super) fn token(key: &[u8]) -> Result<TokenId, CodecError> {
    Uuid::from_slice(rest(key))
        .map(TokenId)
        .map_err(|_| CodecError::Value("the token's id"))
}

pub(super) fn token_id(bytes: [u8; 16]) -> TokenId {
    TokenId(Uuid::from_bytes(bytes))
}
