//! The one place of the command line that does HTTP.

use std::io;
use std::path::Path;
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use ureq::http::Uri;

use super::error::{ClientError, Problem};
use super::token;
use crate::cli::ClientOptions;

/// Longest wait unless the command line says otherwise: above the longest orderly stop of a chain of entries.
const TIMEOUT: Duration = Duration::from_secs(120);
/// Time to connect.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Longest answer that is read, in bytes.
const ANSWER_MAX: u64 = 64 << 20;

/// A node that can be asked.
#[derive(Debug)]
pub(super) struct Connection {
    agent: ureq::Agent,
    url: String,
    token: String,
    timeout: Duration,
}

/// An answer that is no problem.
#[derive(Debug)]
pub(super) struct Answer {
    /// HTTP's status: 200, or 202 for what goes on.
    pub(super) status: u16,
    /// The body.
    pub(super) text: String,
}

impl Connection {
    /// Gets ready to ask; nothing is sent.
    ///
    /// # Errors
    /// The URL is wrong, or there is no token.
    pub(super) fn open(options: &ClientOptions) -> Result<Self, ClientError> {
        let url = base(&options.url).ok_or_else(|| ClientError::Url(options.url.clone()))?;
        let token = token::find(options.token_file.as_deref().map(Path::new))?;
        let timeout = options.timeout.unwrap_or(TIMEOUT);
        let agent = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            // A node is asked directly: it is mostly on this machine.
            .proxy(None)
            .timeout_connect(Some(CONNECT_TIMEOUT))
            .user_agent(concat!("treewarden/", env!("CARGO_PKG_VERSION")))
            .build();
        Ok(Self {
            agent: agent.into(),
            url,
            token,
            timeout,
        })
    }

    /// GET.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub(super) fn get(&self, path: &str) -> Result<Answer, ClientError> {
        let request = self
            .agent
            .get(format!("{}{path}", self.url))
            .header("authorization", self.bearer());
        let request = request.config().timeout_global(Some(self.timeout)).build();
        self.read(request.call(), self.timeout)
    }

    /// POST without a body.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub(super) fn post(&self, path: &str) -> Result<Answer, ClientError> {
        self.post_with(path, &serde_json::Map::new(), Duration::ZERO)
    }

    /// POST of JSON; waits `more` than the command line says.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub(super) fn post_with(
        &self,
        path: &str,
        body: &impl Serialize,
        more: Duration,
    ) -> Result<Answer, ClientError> {
        let timeout = self.timeout.saturating_add(more);
        let request = self
            .agent
            .post(format!("{}{path}", self.url))
            .header("authorization", self.bearer());
        let request = request.config().timeout_global(Some(timeout)).build();
        self.read(request.send_json(body), timeout)
    }

    /// GET of JSON of a known shape.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub(super) fn get_json<T: DeserializeOwned>(&self, path: &str) -> Result<T, ClientError> {
        self.parse(&self.get(path)?.text)
    }

    /// Reads an answer of a known shape.
    ///
    /// # Errors
    /// It has another shape.
    pub(super) fn parse<T: DeserializeOwned>(&self, text: &str) -> Result<T, ClientError> {
        self.understand(serde_json::from_str(text))
    }

    /// Takes an answer that was read.
    ///
    /// # Errors
    /// It could not be read.
    pub(super) fn understand<T>(&self, read: serde_json::Result<T>) -> Result<T, ClientError> {
        read.map_err(|error| self.odd(&format!("its answer can't be read: {error}")))
    }

    /// All rows of a list, page by page, each as it was sent.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub(super) fn entries(&self) -> Result<Vec<Box<RawValue>>, ClientError> {
        #[derive(serde::Deserialize)]
        struct Page {
            entries: Vec<Box<RawValue>>,
            next_cursor: Option<String>,
        }
        let mut rows = Vec::new();
        let mut path = "/api/console/entries?limit=256".to_owned();
        loop {
            let mut page: Page = self.get_json(&path)?;
            // A page without rows can't lead on: that list would never end.
            let last = page.entries.is_empty();
            rows.append(&mut page.entries);
            match page.next_cursor {
                Some(cursor) if !last => {
                    path = format!("/api/console/entries?limit=256&cursor={}", segment(&cursor))
                }
                _ => return Ok(rows),
            }
        }
    }

    fn bearer(&self) -> String {
        format!("Bearer {}", self.token)
    }

    fn read(
        &self,
        answer: Result<ureq::http::Response<ureq::Body>, ureq::Error>,
        timeout: Duration,
    ) -> Result<Answer, ClientError> {
        let mut answer = answer.map_err(|error| self.failed(error, timeout))?;
        let status = answer.status().as_u16();
        let body = answer
            .body_mut()
            .with_config()
            .limit(ANSWER_MAX)
            .lossy_utf8(true)
            .read_to_string();
        let text = body.map_err(|error| self.failed(error, timeout))?;
        if (200..300).contains(&status) {
            return Ok(Answer { status, text });
        }
        match serde_json::from_str::<Problem>(&text) {
            Ok(problem) if !problem.code.is_empty() => Err(ClientError::Problem(Box::new(problem))),
            _ => Err(self.odd(&format!("it answers with status {status}"))),
        }
    }

    fn failed(&self, error: ureq::Error, timeout: Duration) -> ClientError {
        let url = self.url.clone();
        match error {
            ureq::Error::Timeout(ureq::Timeout::Connect | ureq::Timeout::Resolve) => {
                ClientError::Unreachable {
                    url,
                    why: format!("no connection within {} s", CONNECT_TIMEOUT.as_secs()),
                }
            }
            ureq::Error::Timeout(_) => ClientError::Late(timeout),
            ureq::Error::HostNotFound => ClientError::Unreachable {
                url,
                why: "its host name is not known".to_owned(),
            },
            ureq::Error::ConnectionFailed => ClientError::Unreachable {
                url,
                why: "the connection failed".to_owned(),
            },
            ureq::Error::Io(error) if before_sending(&error) => ClientError::Unreachable {
                url,
                why: error.to_string(),
            },
            ureq::Error::Protocol(_) | ureq::Error::BodyExceedsLimit(_) => {
                self.odd(&error.to_string())
            }
            error => ClientError::Broken {
                url,
                why: error.to_string(),
            },
        }
    }

    fn odd(&self, why: &str) -> ClientError {
        ClientError::NotANode {
            url: self.url.clone(),
            why: why.to_owned(),
        }
    }
}

fn before_sending(error: &io::Error) -> bool {
    use io::ErrorKind::{
        AddrNotAvailable, ConnectionRefused, HostUnreachable, NetworkUnreachable, PermissionDenied,
    };
    matches!(
        error.kind(),
        ConnectionRefused
            | HostUnreachable
            | NetworkUnreachable
            | AddrNotAvailable
            | PermissionDenied
    )
}

/// `http://HOST:PORT`, without a path; there is no TLS in this version.
fn base(text: &str) -> Option<String> {
    let uri: Uri = text.trim().parse().ok()?;
    let root = uri.path().is_empty() || uri.path() == "/";
    let authority = uri
        .authority()
        .filter(|authority| !authority.host().is_empty() && !authority.as_str().contains('@'))?;
    (uri.scheme_str() == Some("http") && root && uri.query().is_none())
        .then(|| format!("http://{authority}"))
}

/// A text as one segment of a path, or as a value of a query.
pub(super) fn segment(text: &str) -> String {
    let escaped = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'~' | b'.' => {
            char::from(byte).to_string()
        }
        byte => format!("%{byte:02X}"),
    };
    // A segment of dots alone would climb in the path.
    if text == "." || text == ".." {
        return text.replace('.', "%2E");
    }
    text.bytes().map(escaped).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_addresses_of_nodes_are_taken() {
        assert_eq!(
            base("http://127.0.0.1:7420/").as_deref(),
            Some("http://127.0.0.1:7420")
        );
        assert_eq!(
            base("http://[::1]:7420").as_deref(),
            Some("http://[::1]:7420")
        );
        for bad in [
            "",
            "127.0.0.1:7420",
            "https://node.example",
            "http://",
            "http://a/b",
            "http://u:p@a",
            "http://a?x=1",
            "ftp://a",
            "http://a b",
        ] {
            assert_eq!(base(bad), None, "{bad}");
        }
    }

    #[test]
    fn names_stay_one_segment() {
        assert_eq!(segment("a/b c?d#é"), "a%2Fb%20c%3Fd%23%C3%A9");
        assert_eq!(segment(".."), "%2E%2E");
    }
}
