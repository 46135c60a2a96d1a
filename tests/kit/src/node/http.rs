//! The node's HTTP interface.

use std::time::Duration;

use serde_json::Value;

use super::Node;

/// No answer within this: the test fails.
const BOUND: Duration = Duration::from_secs(90);

pub(super) fn agent() -> ureq::Agent {
    ureq::Agent::config_builder()
        .http_status_as_error(false)
        .timeout_global(Some(BOUND))
        .build()
        .into()
}

/// Status and body; a body that is no JSON comes as a string.
fn read(
    answer: Result<ureq::http::Response<ureq::Body>, ureq::Error>,
) -> Result<(u16, Value), ureq::Error> {
    let mut answer = answer?;
    let status = answer.status().as_u16();
    let text = answer.body_mut().read_to_string()?;
    Ok((
        status,
        serde_json::from_str(&text).unwrap_or(Value::String(text)),
    ))
}

impl Node {
    /// GET with the administrator's token.
    ///
    /// # Panics
    /// The node does not answer.
    #[track_caller]
    pub fn get(&self, path: &str) -> (u16, Value) {
        self.try_get(path)
            .unwrap_or_else(|error| panic!("GET {path}: {error}; log:\n{}", self.log_tail()))
    }

    /// GET that may fail.
    ///
    /// # Errors
    /// No whole answer came.
    pub fn try_get(&self, path: &str) -> Result<(u16, Value), ureq::Error> {
        let url = format!("{}{path}", self.url);
        read(
            self.agent
                .get(url)
                .header("authorization", self.bearer())
                .call(),
        )
    }

    /// GET without a token.
    ///
    /// # Panics
    /// The node does not answer.
    #[track_caller]
    pub fn get_open(&self, path: &str) -> (u16, Value) {
        let request = self.agent.get(format!("{}{path}", self.url));
        read(request.call())
            .unwrap_or_else(|error| panic!("GET {path}: {error}; log:\n{}", self.log_tail()))
    }

    /// POST of JSON with the administrator's token.
    ///
    /// # Panics
    /// The node does not answer.
    #[track_caller]
    pub fn post(&self, path: &str, body: &Value) -> (u16, Value) {
        self.try_post(path, body)
            .unwrap_or_else(|error| panic!("POST {path}: {error}; log:\n{}", self.log_tail()))
    }

    /// POST that may fail, since the node may be killed meanwhile.
    ///
    /// # Errors
    /// No whole answer came.
    pub fn try_post(&self, path: &str, body: &Value) -> Result<(u16, Value), ureq::Error> {
        let request = self
            .agent
            .post(format!("{}{path}", self.url))
            .header("authorization", self.bearer());
        read(request.send_json(body))
    }

    /// POST of raw bytes under a content type, with the administrator's token.
    ///
    /// # Panics
    /// The node does not answer.
    #[track_caller]
    pub fn post_raw(&self, path: &str, content_type: &str, body: &[u8]) -> (u16, Value) {
        let request = self
            .agent
            .post(format!("{}{path}", self.url))
            .header("authorization", self.bearer());
        let answer = request.header("content-type", content_type).send(body);
        read(answer)
            .unwrap_or_else(|error| panic!("POST {path}: {error}; log:\n{}", self.log_tail()))
    }

    fn bearer(&self) -> String {
        format!("Bearer {}", self.token())
    }
}
