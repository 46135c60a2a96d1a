//! The actor tree in its three forms.

use super::{Edge, fake};
use crate::render;

#[tokio::test]
async fn json_form() {
    let edge = Edge::new();
    insta::assert_json_snapshot!(edge.get("/debug/actors").await.json());
    assert_eq!(
        edge.get("/debug/actors?format=json").await.json(),
        edge.get("/debug/actors").await.json()
    );
}

#[tokio::test]
async fn one_actor_alone() {
    let edge = Edge::new();
    let ledger = edge.get("/debug/actors/0.4").await.json();
    assert_eq!(
        (
            &ledger["name"],
            ledger["children"].as_array().unwrap().len()
        ),
        (&"entry:ledger".into(), 1)
    );
}

#[test]
fn text_form() {
    insta::assert_snapshot!(render::text(&fake::tree()));
}

#[test]
fn dot_form() {
    insta::assert_snapshot!(render::dot(&fake::tree()));
}

#[tokio::test]
async fn forms_say_what_they_are() {
    let edge = Edge::new();
    assert_eq!(
        edge.get("/debug/actors?format=text").await.headers["content-type"],
        "text/plain; charset=utf-8"
    );
    assert_eq!(
        edge.get("/debug/actors?format=dot").await.headers["content-type"],
        "text/vnd.graphviz; charset=utf-8"
    );
}

#[cfg(feature = "faults")]
#[tokio::test]
async fn faults_reach_the_node() {
    let edge = Edge::new();
    assert_eq!(edge.post("/debug/actors/0.5/kill", "").await.status, 200);
    assert_eq!(
        edge.post("/debug/actors/9.9/kill", "").await.problem(),
        (404, "not_found".to_owned())
    );
    assert_eq!(
        edge.post("/debug/faults/clock", r#"{"leap":"2 seconds"}"#)
            .await
            .status,
        200
    );
    assert_eq!(
        edge.post("/debug/faults/ballast", r#"{"bytes":7}"#)
            .await
            .status,
        200
    );
    assert_eq!(
        edge.node.asked(),
        ["kill actor 0.5", "kill actor 9.9", "leap 2s", "ballast 7"]
    );
}
