//! Reading what a client sends: bounded in size and in time, and strict.

mod body;
mod credential;
mod json;
mod query;

pub(crate) use body::{is_json, read};
pub(crate) use credential::token_hash;
pub(crate) use json::{Nothing, parse, parse_optional};
pub(crate) use query::Query;
