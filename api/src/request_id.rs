//! `x-request-id`: the client's, else one of our own; on every answer and in every problem.

use std::sync::atomic::{AtomicU64, Ordering};

use axum::http::{HeaderMap, HeaderName, HeaderValue};
use uuid::Uuid;

use crate::limits::REQUEST_ID_BYTES;

/// The header.
pub(crate) const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Gives requests their ids: unique within a start by the number, between starts by the random part.
#[derive(Debug)]
pub(crate) struct RequestIds {
    start: u64,
    next: AtomicU64,
}

impl RequestIds {
    /// A new series.
    pub(crate) fn new() -> Self {
        Self {
            start: Uuid::new_v4().as_u64_pair().0,
            next: AtomicU64::new(1),
        }
    }

    /// The id of a request.
    pub(crate) fn of(&self, headers: &HeaderMap) -> HeaderValue {
        headers
            .get(REQUEST_ID)
            .filter(|id| acceptable(id))
            .cloned()
            .unwrap_or_else(|| self.next())
    }

    fn next(&self) -> HeaderValue {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        HeaderValue::try_from(format!("{:016x}-{number}", self.start))
            .unwrap_or_else(|_| HeaderValue::from(number))
    }
}

/// Ids go into logs, so they are short and visible: anything else is replaced by one of ours.
fn acceptable(id: &HeaderValue) -> bool {
    let bytes = id.as_bytes();
    (1..=REQUEST_ID_BYTES).contains(&bytes.len()) && bytes.iter().all(u8::is_ascii_graphic)
}
