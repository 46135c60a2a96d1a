//! What is refused of bodies, queries and paths.

use axum::body::Body;
use axum::http::HeaderValue;

use super::{Edge, request};

const CALL: &str = "/api/console/entries/ledger/call";

#[tokio::test]
async fn what_is_not_json_is_told_from_what_has_the_wrong_shape() {
    let edge = Edge::new();
    for body in [
        "{",
        "",
        "{} {}",
        "nonsense",
        r#"{"service":5,"#,
        "\u{feff}{}",
    ] {
        assert_eq!(
            edge.post(CALL, body).await.problem(),
            (400, "invalid_json".to_owned()),
            "{body:?}"
        );
    }
    let broken_utf8 = b"{\"service\":\"a\",\"method\":\"\xff\"}".to_vec();
    assert_eq!(
        edge.post(CALL, broken_utf8).await.problem(),
        (400, "invalid_json".to_owned())
    );
    let deep = format!(
        r#"{{"service":"a","method":"b","params":{}{}}}"#,
        "[".repeat(100_000),
        "]".repeat(100_000)
    );
    assert!(
        matches!(edge.post(CALL, deep).await.status.as_u16(), 200 | 400),
        "no matter how deep, nothing breaks"
    );
}

#[tokio::test]
async fn wrong_fields_are_named() {
    let edge = Edge::new();
    let cases = [
        (r#"{"service":5,"method":"ping"}"#, "service"),
        (r#"{"service":"a"}"#, "method"),
        (r#"{"service":"a","method":null}"#, "method"),
        (r#"{"service":"a","method":"b","speed":1}"#, "speed"),
        (
            r#"{"service":"a","method":"b","workspace_id":1}"#,
            "workspace_id",
        ),
        (r#"{"service":"a","service":"b","method":"c"}"#, "service"),
        (r#"{"service":"a","method":"b","timeout":5}"#, "timeout"),
        (r#"{"service":"a","method":"b","timeout":"5"}"#, "timeout"),
        (
            r#"{"service":"a","method":"b","timeout":"0 seconds"}"#,
            "timeout",
        ),
        (
            r#"{"service":"a","method":"b","timeout":"601 seconds"}"#,
            "timeout",
        ),
    ];
    for (body, field) in cases {
        let answer = edge.post(CALL, body).await;
        assert_eq!(
            answer.problem(),
            (422, "invalid_request".to_owned()),
            "{body}"
        );
        assert_eq!(answer.json()["field"], field, "{body}");
    }
    for body in ["[]", "5", "null", "\"x\""] {
        assert_eq!(
            edge.post(CALL, body).await.problem(),
            (422, "invalid_request".to_owned()),
            "{body}"
        );
    }
    assert_eq!(edge.node.asked(), Vec::<String>::new());
}

#[tokio::test]
async fn verbs_take_no_body_or_an_empty_one() {
    let edge = Edge::new();
    let stop = "/api/console/entries/ledger/stop";
    assert_eq!(
        edge.send(request("POST", stop).body(Body::empty()).unwrap())
            .await
            .status,
        200
    );
    assert_eq!(edge.post(stop, " {} ").await.status, 200);
    let answer = edge.post(stop, r#"{"force":true}"#).await;
    assert_eq!(answer.problem(), (422, "invalid_request".to_owned()));
    assert_eq!(answer.json()["field"], "force");
    assert_eq!(edge.node.asked(), ["stop ledger", "stop ledger"]);
}

#[tokio::test]
async fn only_json_is_taken() {
    let edge = Edge::new();
    let body = r#"{"service":"ledger","method":"ping"}"#;
    let of_kind = |kind: Option<&str>| {
        let mut request = request("POST", CALL);
        if let Some(kind) = kind {
            request = request.header("content-type", kind);
        }
        request.body(Body::from(body)).unwrap()
    };
    for kind in [
        "application/json",
        "application/json; charset=utf-8",
        "Application/JSON",
        "application/vnd.x+json",
    ] {
        assert_eq!(edge.send(of_kind(Some(kind))).await.status, 200, "{kind}");
    }
    for kind in [
        None,
        Some("text/plain"),
        Some("application/x-www-form-urlencoded"),
        Some("application/jsonx"),
        Some(""),
    ] {
        assert_eq!(
            edge.send(of_kind(kind)).await.problem(),
            (415, "unsupported_media_type".to_owned()),
            "{kind:?}"
        );
    }
}

#[tokio::test]
async fn bodies_are_bounded_whether_announced_or_not() {
    let edge = Edge::new();
    let most = 1 << 20;
    let of_length = |length: usize| {
        let frame = r#"{"service":"ledger","method":"x","params":""}"#.len();
        format!(
            r#"{{"service":"ledger","method":"x","params":"{}"}}"#,
            "x".repeat(length - frame)
        )
    };
    assert_eq!(edge.post(CALL, of_length(most)).await.status, 200);
    let over = of_length(most + 1);
    let unannounced = edge.post(CALL, over.clone()).await;
    assert_eq!(unannounced.problem(), (413, "body_too_large".to_owned()));
    assert_eq!(unannounced.json()["limit"], most);
    let announced = request("POST", CALL)
        .header("content-type", "application/json")
        .header("content-length", HeaderValue::from(over.len()));
    assert_eq!(
        edge.send(announced.body(Body::from(over)).unwrap())
            .await
            .problem()
            .0,
        413
    );
}

#[tokio::test]
async fn queries_are_as_strict_as_bodies() {
    let edge = Edge::new();
    let cases = [
        ("/api/console/entries/ledger/logs?tail=x", "tail"),
        ("/api/console/entries/ledger/logs?tail=501", "tail"),
        ("/api/console/entries/ledger/logs?tail=-1", "tail"),
        ("/api/console/entries/ledger/logs?tail=1&tail=2", "tail"),
        ("/api/console/entries/ledger/logs?tial=1", "tial"),
        ("/api/console/entries?limit=0", "limit"),
        ("/api/console/entries?limit=257", "limit"),
        ("/debug/actors?format=poem", "format"),
    ];
    for (path, field) in cases {
        let answer = edge.get(path).await;
        assert_eq!(
            answer.problem(),
            (422, "invalid_request".to_owned()),
            "{path}"
        );
        assert_eq!(answer.json()["field"], field, "{path}");
    }
    for cursor in ["x", "6", "zz", "C3A9", "2f", ""] {
        assert_eq!(
            edge.get(&format!("/api/console/entries?cursor={cursor}"))
                .await
                .problem(),
            (400, "invalid_cursor".to_owned()),
            "{cursor:?}"
        );
    }
    assert_eq!(
        edge.get("/api/console/entries/ledger/logs?tail=7")
            .await
            .status,
        200
    );
    assert_eq!(edge.node.asked(), ["logs ledger 7"]);
}

#[tokio::test]
async fn everything_else_is_not_found() {
    let edge = Edge::new();
    for path in [
        "/",
        "/api/console",
        "/api/console/entries/",
        "/api/console/entries/a/b/c",
        "/livez/",
        "/LIVEZ",
        "/api/console/entries/%ff",
        "/debug/actors/none",
    ] {
        assert_eq!(
            edge.get(path).await.problem(),
            (404, "not_found".to_owned()),
            "{path}"
        );
    }
    for path in [
        "/api/console/entries/zzz",
        "/api/console/entries/zzz/logs",
        "/api/console/entries/..",
        "/api/console/entries/a%2Fb",
    ] {
        assert_eq!(
            edge.get(path).await.problem(),
            (404, "entry_not_found".to_owned()),
            "{path}"
        );
    }
    for verb in ["start", "stop", "restart", "kill", "reset"] {
        assert_eq!(
            edge.post(&format!("/api/console/entries/zzz/{verb}"), "")
                .await
                .problem(),
            (404, "entry_not_found".to_owned()),
            "{verb}"
        );
    }
}
