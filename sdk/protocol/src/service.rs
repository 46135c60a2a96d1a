//! `service.call`.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// Parameters of `service.call`, in both directions. The result is any JSON.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ServiceCall<'a> {
    /// Which service.
    #[serde(borrow)]
    pub service: Cow<'a, str>,
    /// Which of its methods.
    #[serde(borrow)]
    pub method: Cow<'a, str>,
    /// The method's own parameters; null and absent are the same.
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub params: Option<&'a RawValue>,
    /// Time the call has, counted from receipt; set by a host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
}
