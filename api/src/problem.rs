//! Errors as clients read them: problem details (RFC 9457).
//!
//! What the client reads is not what the operator reads: a problem holds no stack, no path of the host and no secret.

mod code;
mod from_call;
mod from_entry;

use std::borrow::Cow;

use axum::http::header::{CONTENT_TYPE, HeaderName, WWW_AUTHENTICATE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde_json::{Map, Value};

pub(crate) use code::Code;

/// An error answer. Boxed, since every `Result` of a handler carries the room for it.
#[derive(Debug)]
pub(crate) struct Problem(Box<Parts>);

#[derive(Debug)]
struct Parts {
    code: Code,
    detail: Cow<'static, str>,
    members: Map<String, Value>,
    header: Option<(HeaderName, HeaderValue)>,
    request_id: Option<String>,
}

#[derive(Serialize)]
struct Body<'a> {
    r#type: String,
    title: &'static str,
    status: u16,
    detail: &'a str,
    code: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    request_id: Option<&'a str>,
    #[serde(flatten)]
    members: &'a Map<String, Value>,
}

impl Problem {
    /// A problem; `detail` is a sentence about this one.
    pub(crate) fn new(code: Code, detail: impl Into<Cow<'static, str>>) -> Self {
        let header = (code == Code::NotAuthenticated)
            .then(|| (WWW_AUTHENTICATE, HeaderValue::from_static("Bearer")));
        Self(Box::new(Parts {
            code,
            detail: detail.into(),
            members: Map::new(),
            header,
            request_id: None,
        }))
    }

    /// A request of the wrong shape; `field` is where, dotted.
    pub(crate) fn invalid(field: &str, detail: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Code::InvalidRequest, detail).with("field", field)
    }

    /// Adds a member that helps.
    #[must_use]
    pub(crate) fn with(mut self, member: &'static str, value: impl Into<Value>) -> Self {
        self.0.members.insert(member.to_owned(), value.into());
        self
    }

    /// Names the request, so that it is found in the log.
    #[must_use]
    pub(crate) fn of_request(mut self, id: &HeaderValue) -> Self {
        self.0.request_id = id.to_str().ok().map(str::to_owned);
        self
    }

    /// Adds a header.
    #[must_use]
    pub(crate) fn with_header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.0.header = Some((name, value));
        self
    }

    /// Its code.
    pub(crate) const fn code(&self) -> Code {
        self.0.code
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let status = self.0.code.status();
        let body = Body {
            r#type: format!("urn:treewarden:problem:{}", self.0.code.as_str()),
            title: self.0.code.title(),
            status: status.as_u16(),
            detail: &self.0.detail,
            code: self.0.code.as_str(),
            request_id: self.0.request_id.as_deref(),
            members: &self.0.members,
        };
        let Ok(bytes) = serde_json::to_vec(&body) else {
            return StatusCode::INTERNAL_SERVER_ERROR.into_response();
        };
        let mut response = Response::new(bytes.into());
        *response.status_mut() = status;
        let content_type = HeaderValue::from_static("application/problem+json");
        response.headers_mut().insert(CONTENT_TYPE, content_type);
        if let Some((name, value)) = self.0.header {
            response.headers_mut().insert(name, value);
        }
        response
    }
}
