//! Entries and their status.

use axum::http::Uri;
use axum::response::Response;
use treewarden_model::name::EntryName;

use crate::answer;
use crate::body::entry::{EntriesBody, EntryBody};
use crate::limits::{ROWS, ROWS_MAX};
use crate::node::Node;
use crate::problem::{Code, Problem};
use crate::request::Query;

/// A page of entries, by name. The cursor holds the last name of the page before, so it is good over restarts.
pub(super) fn list<N: Node>(node: &N, uri: &Uri) -> Result<Response, Problem> {
    let mut query = Query::of(uri)?;
    let limit = query.number("limit", 1, ROWS_MAX, ROWS)?;
    let after = query
        .take("cursor")?
        .map(|cursor| name_in(&cursor))
        .transpose()?;
    query.finish()?;
    let mut all = node.list();
    all.sort_by(|one, other| one.name.cmp(&other.name));
    all.retain(|status| after.as_ref().is_none_or(|after| status.name > *after));
    let more = all.len() > limit;
    all.truncate(limit);
    let next_cursor = all
        .last()
        .filter(|_| more)
        .map(|status| cursor_of(&status.name));
    let entries = all.into_iter().map(EntryBody::from).collect();
    answer::json(&EntriesBody {
        entries,
        next_cursor,
    })
}

/// One entry.
pub(super) fn show<N: Node>(node: &N, name: &str) -> Result<Response, Problem> {
    answer::json(&EntryBody::from(node.show(name)?))
}

/// Hexadecimal: opaque, and needs no escaping.
fn cursor_of(name: &EntryName) -> String {
    use std::fmt::Write as _;
    name.as_str().bytes().fold(String::new(), |mut text, byte| {
        // Writing to a String does not fail.
        write!(text, "{byte:02x}").ok();
        text
    })
}

fn name_in(cursor: &str) -> Result<EntryName, Problem> {
    let refused = || {
        Problem::new(
            Code::InvalidCursor,
            "The cursor is none that this list gave.",
        )
        .with("field", "cursor")
    };
    let (pairs, rest) = cursor.as_bytes().as_chunks::<2>();
    let byte = |pair: &[u8; 2]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    let bytes = pairs
        .iter()
        .map(byte)
        .collect::<Option<Vec<u8>>>()
        .filter(|_| rest.is_empty());
    let text = bytes
        .and_then(|bytes| String::from_utf8(bytes).ok())
        .ok_or_else(refused)?;
    EntryName::parse(&text).map_err(|_| refused())
}
