//! How a row lies on disk: an envelope around a bincode body.
//!
//! ```text
//! "TW" │ codec u8 │ version u8 │ length u32 │ crc32c u32 │ body
//! ```
//!
//! All numbers are big-endian. The checksum covers codec, version, length, the row's key and the body: bincode reads most single-bit flips
//! without noticing, and a row that lands under another key is as wrong as a flipped one. The codec tag is the way to another encoding.

use serde::Serialize;
use serde::de::DeserializeOwned;

pub(crate) mod rows;

const MAGIC: [u8; 2] = *b"TW";
const CODEC_BINCODE: u8 = 1;
const HEADER: usize = 12;

/// Longest body, in bytes: larger values would leave the database's file for one of their own, which is never synced.
pub(crate) const BODY_MAX: usize = 64 * 1024 - HEADER;

/// A struct that is stored as it is. A change of its fields is a new version.
pub(crate) trait Row: Serialize + DeserializeOwned {
    const VERSION: u8;
}

/// Why bytes are no row.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum CodecError {
    #[error("it is cut off")]
    Short,
    #[error("it does not begin as rows do")]
    Magic,
    #[error("codec {0} is not known")]
    Codec(u8),
    #[error("version {0} is not known")]
    Version(u8),
    #[error("its length does not fit")]
    Length,
    #[error("its checksum does not fit")]
    Checksum,
    #[error("its body does not fit its version")]
    Body,
    #[error("{0} is not a value of this version")]
    Value(&'static str),
    #[error("it is larger than a row may be")]
    TooLarge,
}

fn checksum(codec: u8, version: u8, length: [u8; 4], key: &[u8], body: &[u8]) -> u32 {
    let [a, b, c, d] = length;
    let head = crc32c::crc32c(&[codec, version, a, b, c, d]);
    crc32c::crc32c_append(crc32c::crc32c_append(head, key), body)
}

const fn configuration() -> impl bincode::config::Config {
    // The limit keeps a hostile length from allocating.
    bincode::config::standard().with_limit::<BODY_MAX>()
}

pub(crate) fn encode_body<T: Serialize>(value: &T) -> Result<Vec<u8>, CodecError> {
    let body =
        bincode::serde::encode_to_vec(value, configuration()).map_err(|_| CodecError::Body)?;
    if body.len() > BODY_MAX {
        Err(CodecError::TooLarge)
    } else {
        Ok(body)
    }
}

pub(crate) fn decode_body<T: DeserializeOwned>(body: &[u8]) -> Result<T, CodecError> {
    let (value, read) =
        bincode::serde::decode_from_slice(body, configuration()).map_err(|_| CodecError::Body)?;
    if read == body.len() {
        Ok(value)
    } else {
        Err(CodecError::Body)
    }
}

/// A row's bytes under its key.
pub(crate) fn encode<R: Row>(key: &[u8], row: &R) -> Result<Vec<u8>, CodecError> {
    let body = encode_body(row)?;
    let length = u32::try_from(body.len())
        .map_err(|_| CodecError::TooLarge)?
        .to_be_bytes();
    let mut bytes = Vec::with_capacity(HEADER + body.len());
    bytes.extend_from_slice(&MAGIC);
    bytes.extend_from_slice(&[CODEC_BINCODE, R::VERSION]);
    bytes.extend_from_slice(&length);
    bytes.extend_from_slice(&checksum(CODEC_BINCODE, R::VERSION, length, key, &body).to_be_bytes());
    bytes.extend_from_slice(&body);
    Ok(bytes)
}

/// The row in these bytes, if every one of them is as it was written.
pub(crate) fn decode<R: Row>(key: &[u8], bytes: &[u8]) -> Result<R, CodecError> {
    let (header, body) = bytes
        .split_first_chunk::<HEADER>()
        .ok_or(CodecError::Short)?;
    let [m0, m1, codec, version, l0, l1, l2, l3, c0, c1, c2, c3] = *header;
    if [m0, m1] != MAGIC {
        return Err(CodecError::Magic);
    }
    let length = [l0, l1, l2, l3];
    if usize::try_from(u32::from_be_bytes(length)).ok() != Some(body.len()) {
        return Err(CodecError::Length);
    }
    if u32::from_be_bytes([c0, c1, c2, c3]) != checksum(codec, version, length, key, body) {
        return Err(CodecError::Checksum);
    }
    // After the checksum: a flipped bit here is damage, not another version.
    if codec != CODEC_BINCODE {
        return Err(CodecError::Codec(codec));
    }
    if version != R::VERSION {
        return Err(CodecError::Version(version));
    }
    decode_body(body)
}

#[cfg(test)]
mod tests;
