//! Tests of the interface with a stand-in for the node.

mod doors;
mod fake;
mod requests;
mod routes;
mod server;
mod shapes;
mod trees;

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::http::{HeaderMap, Request, StatusCode};
use http_body_util::BodyExt as _;
use serde_json::Value;
use tokio::sync::watch;
use tower::ServiceExt as _;
use treewarden_actors::EdgePhase;

use crate::pipeline::{Shared, router};
use fake::{FakeClock, FakeNode};

/// The router around a stand-in.
struct Edge {
    router: Router,
    node: FakeNode,
    phase: watch::Sender<EdgePhase>,
}

/// An answer that was read whole.
#[derive(Debug)]
struct Answer {
    status: StatusCode,
    headers: HeaderMap,
    bytes: Vec<u8>,
}

impl Answer {
    fn json(&self) -> Value {
        serde_json::from_slice(&self.bytes).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    fn text(&self) -> String {
        String::from_utf8(self.bytes.clone()).unwrap()
    }

    /// Status and code of a problem, whose form is checked.
    #[track_caller]
    fn problem(&self) -> (u16, String) {
        assert_eq!(
            self.headers["content-type"],
            "application/problem+json",
            "{}",
            self.text()
        );
        let body = self.json();
        let code = body["code"].as_str().unwrap().to_owned();
        assert_eq!(body["type"], format!("urn:treewarden:problem:{code}"));
        assert_eq!(body["status"], self.status.as_u16());
        assert!(
            body["title"].is_string() && body["detail"].is_string(),
            "{body:#}"
        );
        assert_eq!(
            body["request_id"].as_str().unwrap(),
            self.headers["x-request-id"]
        );
        (self.status.as_u16(), code)
    }
}

impl Edge {
    fn new() -> Self {
        let node = FakeNode::default();
        let (phase, seen) = watch::channel(EdgePhase::Open);
        let listen: SocketAddr = "192.0.2.7:7420".parse().unwrap();
        let hosts = ["node.example".to_owned()];
        let shared = Shared::new(node.clone(), seen, Arc::new(FakeClock), &hosts, &[listen]);
        Self {
            router: router(Arc::new(shared)),
            node,
            phase,
        }
    }

    async fn send(&self, request: Request<Body>) -> Answer {
        let response = self.router.clone().oneshot(request).await.unwrap();
        let (parts, body) = response.into_parts();
        let bytes = body.collect().await.unwrap().to_bytes().to_vec();
        Answer {
            status: parts.status,
            headers: parts.headers,
            bytes,
        }
    }

    async fn get(&self, path: &str) -> Answer {
        self.send(request("GET", path).body(Body::empty()).unwrap())
            .await
    }

    async fn post(&self, path: &str, body: impl Into<Body>) -> Answer {
        let request = request("POST", path).header("content-type", "application/json");
        self.send(request.body(body.into()).unwrap()).await
    }
}

/// A request with a host and the token that may all.
fn request(method: &str, path: &str) -> axum::http::request::Builder {
    Request::builder()
        .method(method)
        .uri(path)
        .header("host", "localhost:7420")
        .header("authorization", "Bearer all")
}
