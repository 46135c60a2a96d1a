//! Host names, tokens, request ids.

use axum::body::Body;
use axum::http::Request;
use treewarden_actors::answers::EntryError;

use super::{Edge, fake, request};

fn to_host(host: &str) -> Request<Body> {
    Request::builder()
        .uri("/livez")
        .header("host", host)
        .body(Body::empty())
        .unwrap()
}

#[tokio::test]
async fn loopback_listen_address_and_configured_names_are_served() {
    let edge = Edge::new();
    let served = [
        "localhost",
        "LOCALHOST:7420",
        "localhost.",
        "a.localhost:1",
        "127.0.0.1",
        "127.8.9.10:7420",
        "[::1]",
        "[::1]:7420",
        "[::ffff:127.0.0.1]",
        "192.0.2.7:7420",
        "node.example",
        "NODE.example:99",
    ];
    for host in served {
        assert_eq!(edge.send(to_host(host)).await.status, 200, "{host}");
    }
}

#[tokio::test]
async fn other_hosts_get_nothing_not_even_the_open_routes() {
    let edge = Edge::new();
    let refused = [
        "",
        "evil.example",
        "localhost.evil.example",
        "evillocalhost",
        "node.example.evil",
        "192.0.2.8",
        "[::2]",
        "127.0.0.1.evil.example",
        "localhost:x",
        "user@localhost",
        ":7420",
        "[::1",
        "0.0.0.0",
    ];
    for host in refused {
        assert_eq!(
            edge.send(to_host(host)).await.problem(),
            (421, "host_not_allowed".to_owned()),
            "{host}"
        );
    }
    let none = Request::builder()
        .uri("/livez")
        .body(Body::empty())
        .unwrap();
    assert_eq!(edge.send(none).await.status, 421);
    let two = Request::builder()
        .uri("/livez")
        .header("host", "localhost")
        .header("host", "localhost")
        .body(Body::empty())
        .unwrap();
    assert_eq!(edge.send(two).await.status, 421);
    let absolute = Request::builder()
        .uri("http://evil.example/livez")
        .header("host", "localhost")
        .body(Body::empty())
        .unwrap();
    assert_eq!(edge.send(absolute).await.status, 421);
    let nowhere = Request::builder()
        .uri("/nothing")
        .header("host", "evil.example")
        .body(Body::empty())
        .unwrap();
    assert_eq!(edge.send(nowhere).await.status, 421);
}

#[tokio::test]
async fn bearer_is_the_one_scheme() {
    let edge = Edge::new();
    for (value, status) in [
        ("Bearer all", 200),
        ("bearer all", 200),
        ("Bearer  all ", 200),
        ("Basic all", 401),
        ("all", 401),
        ("Bearer", 401),
        ("Bearer ", 401),
    ] {
        let request = Request::builder()
            .uri("/api/console/entries")
            .header("host", "localhost")
            .header("authorization", value);
        assert_eq!(
            edge.send(request.body(Body::empty()).unwrap()).await.status,
            status,
            "{value:?}"
        );
    }
}

/// SUP-38
#[tokio::test]
async fn failed_store_is_told_without_its_words() {
    let edge = Edge::new();
    fake::set(
        &edge.node.store_error,
        EntryError::StoreFailed("/var/lib/secret/db: I/O error".to_owned()),
    );
    let answer = edge.get("/api/console/entries").await;
    assert_eq!(answer.problem(), (503, "store_failed".to_owned()));
    assert!(
        !answer.text().contains("/var/lib"),
        "no path of the host: {}",
        answer.text()
    );
}

#[tokio::test]
async fn request_id_is_honoured_or_given() {
    let edge = Edge::new();
    let with = |id: &str| {
        request("GET", "/livez")
            .header("x-request-id", id)
            .body(Body::empty())
            .unwrap()
    };
    assert_eq!(
        edge.send(with("abc-1")).await.headers["x-request-id"],
        "abc-1"
    );
    let first = edge.get("/livez").await.headers["x-request-id"].clone();
    let second = edge.get("/nothing").await.headers["x-request-id"].clone();
    assert!(!first.is_empty() && first != second);
    for bad in ["two words", "", &"x".repeat(129)] {
        let given = edge.send(with(bad)).await.headers["x-request-id"].clone();
        assert!(!given.is_empty() && given != bad);
    }
}

#[tokio::test]
async fn answers_are_kept_in_no_cache() {
    let edge = Edge::new();
    for path in ["/livez", "/nothing", "/api/console/entries"] {
        let answer = edge.get(path).await;
        assert_eq!(
            (
                &answer.headers["cache-control"],
                &answer.headers["x-content-type-options"]
            ),
            (&"no-store".parse().unwrap(), &"nosniff".parse().unwrap())
        );
    }
}

#[tokio::test]
async fn readiness_says_why_not() {
    let edge = Edge::new();
    assert_eq!(
        edge.get("/readyz").await.json(),
        serde_json::json!({ "status": "ready" })
    );
    fake::set(&edge.node.not_ready, "the store failed".to_owned());
    let answer = edge.get("/readyz").await;
    assert_eq!(answer.problem(), (503, "not_ready".to_owned()));
    assert_eq!(answer.json()["detail"], "the store failed");
}
