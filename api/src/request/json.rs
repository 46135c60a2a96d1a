//! JSON bodies. The usual case reads once, without copying; only a wrong body is read again, to name the field.

use axum::http::HeaderMap;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::error::Category;

use super::is_json;
use crate::problem::{Code, Problem};

/// The body of a verb that takes nothing: absent, or `{}`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Nothing {}

/// Reads a body that may be absent.
///
/// # Errors
/// As [`parse`].
pub(crate) fn parse_optional<'a, T: Deserialize<'a>>(
    headers: &HeaderMap,
    bytes: &'a [u8],
) -> Result<Option<T>, Problem> {
    if bytes.is_empty() {
        Ok(None)
    } else {
        parse(headers, bytes).map(Some)
    }
}

/// Reads a body.
///
/// # Errors
/// `unsupported_media_type`, `invalid_json`, or `invalid_request`, which names the field.
pub(crate) fn parse<'a, T: Deserialize<'a>>(
    headers: &HeaderMap,
    bytes: &'a [u8],
) -> Result<T, Problem> {
    if !is_json(headers) {
        return Err(Problem::new(
            Code::UnsupportedMediaType,
            "The body must be JSON, with the header \"content-type: application/json\".",
        ));
    }
    serde_json::from_slice(bytes).map_err(|error| explain::<T>(bytes, &error))
}

fn explain<'a, T: Deserialize<'a>>(bytes: &'a [u8], error: &serde_json::Error) -> Problem {
    let whole = serde_json::from_slice::<IgnoredAny>(bytes).err();
    let broken = whole
        .as_ref()
        .or_else(|| matches!(error.classify(), Category::Syntax | Category::Eof).then_some(error));
    if let Some(broken) = broken {
        let detail = format!("The body is not JSON: {broken}.");
        return Problem::new(Code::InvalidJson, detail)
            .with("line", broken.line())
            .with("column", broken.column());
    }
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    let (path, what) = match serde_path_to_error::deserialize::<_, T>(&mut reader) {
        Ok(_) => (String::new(), error.to_string()),
        Err(located) => (located.path().to_string(), located.inner().to_string()),
    };
    let field = match path.as_str() {
        "" | "." => named_in(&what).unwrap_or_default().to_owned(),
        path => path.to_owned(),
    };
    let what = what.split(" at line ").next().unwrap_or_default();
    if field.is_empty() {
        Problem::new(
            Code::InvalidRequest,
            format!("The body is not valid: {what}."),
        )
    } else {
        let detail = format!("The field \"{field}\" is not valid: {what}.");
        Problem::invalid(&field, detail)
    }
}

/// The field of "missing field `x`", which has no path of its own.
fn named_in(what: &str) -> Option<&str> {
    ["missing field `", "unknown field `", "duplicate field `"]
        .iter()
        .find_map(|start| what.strip_prefix(start)?.split('`').next())
}
