//! `data.get`.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Parameters of `data.get`; for managed plugins and their own collections only. The result is a [`DataRow`] or null.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct DataGet<'a> {
    /// The collection.
    #[serde(borrow)]
    pub collection_code: Cow<'a, str>,
    /// The row's key.
    pub key: Value,
}

/// A row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DataRow {
    /// Every field, the key included.
    pub values: Map<String, Value>,
}
