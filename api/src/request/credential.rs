//! The token of a request. Only its hash goes further, so nothing can log it.

use axum::http::header::AUTHORIZATION;
use axum::http::{HeaderMap, HeaderValue};
use sha2::{Digest as _, Sha256};

/// SHA-256 of the bearer token; `None` without one.
pub(crate) fn token_hash(headers: &HeaderMap) -> Option<[u8; 32]> {
    let (scheme, token) = headers
        .get(AUTHORIZATION)
        .map(HeaderValue::as_bytes)?
        .split_at_checked("Bearer ".len())?;
    let token = token.trim_ascii();
    (scheme.eq_ignore_ascii_case(b"Bearer ") && !token.is_empty())
        .then(|| Sha256::digest(token).into())
}
