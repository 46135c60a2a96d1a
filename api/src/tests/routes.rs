//! The table of routes: who may ask, and how.

use std::collections::BTreeSet;

use axum::body::Body;
use axum::http::Request;

use super::Edge;
use crate::route::{Access, Action, ROUTES, Route, Verb};

/// All operations of the table.
pub(super) fn operations() -> BTreeSet<String> {
    let of = |route: &Route| match route.access {
        Access::Open => None,
        Access::Needs(operation) => Some(operation.as_str().to_owned()),
    };
    ROUTES.iter().filter_map(of).collect()
}

fn path(route: &Route) -> String {
    route
        .path
        .replace("{name}", "ledger")
        .replace("{id}", "0.5")
}

fn with_token(route: &Route, token: Option<&str>) -> Request<Body> {
    let (method, body) = match (route.verb, route.action) {
        (Verb::Get, _) => ("GET", ""),
        (Verb::Post, Action::CallService) => ("POST", r#"{"service":"ledger","method":"ping"}"#),
        #[cfg(feature = "faults")]
        (Verb::Post, Action::LeapClock) => ("POST", r#"{"leap":"2 seconds"}"#),
        #[cfg(feature = "faults")]
        (Verb::Post, Action::TakeBallast) => ("POST", r#"{"bytes":1}"#),
        (Verb::Post, _) => ("POST", "{}"),
    };
    let mut request = Request::builder()
        .method(method)
        .uri(path(route))
        .header("host", "127.0.0.1")
        .header("content-type", "application/json");
    if let Some(token) = token {
        request = request.header("authorization", format!("Bearer {token}"));
    }
    request.body(Body::from(body)).unwrap()
}

#[tokio::test]
async fn each_route_is_open_to_its_operation_alone_and_closed_to_all_others_together() {
    let edge = Edge::new();
    for route in ROUTES {
        let Access::Needs(operation) = route.access else {
            continue;
        };
        let only = edge
            .send(with_token(route, Some(&format!("only:{operation}"))))
            .await;
        assert_eq!(only.status, 200, "{route:?}: {}", only.text());
        let before = edge.node.asked().len();
        let others = edge
            .send(with_token(route, Some(&format!("but:{operation}"))))
            .await;
        assert_eq!(
            others.problem(),
            (403, "permission_denied".to_owned()),
            "{route:?}"
        );
        assert_eq!(others.json()["operation"], operation.as_str());
        assert_eq!(
            edge.node.asked().len(),
            before,
            "{route:?}: nothing was done"
        );
    }
}

#[tokio::test]
async fn without_a_token_only_the_open_routes_answer() {
    let edge = Edge::new();
    for route in ROUTES {
        for token in [None, Some("nobody's")] {
            let answer = edge.send(with_token(route, token)).await;
            if route.access == Access::Open {
                assert_eq!(answer.status, 200, "{route:?}");
            } else {
                assert_eq!(
                    answer.problem(),
                    (401, "not_authenticated".to_owned()),
                    "{route:?}"
                );
                assert_eq!(answer.headers["www-authenticate"], "Bearer");
            }
        }
    }
    assert_eq!(edge.node.asked(), Vec::<String>::new());
}

#[tokio::test]
async fn the_other_method_is_refused_and_the_right_one_named() {
    let edge = Edge::new();
    for route in ROUTES {
        let (other, allow) = match route.verb {
            Verb::Get => ("POST", "GET,HEAD"),
            Verb::Post => ("GET", "POST"),
        };
        let answer = edge
            .send(
                super::request(other, &path(route))
                    .body(Body::empty())
                    .unwrap(),
            )
            .await;
        assert_eq!(
            answer.problem(),
            (405, "method_not_allowed".to_owned()),
            "{route:?}"
        );
        assert_eq!(answer.headers["allow"], allow, "{route:?}");
    }
}

#[test]
fn no_route_is_there_twice() {
    let all: BTreeSet<(&str, bool)> = ROUTES
        .iter()
        .map(|route| (route.path, route.verb == Verb::Get))
        .collect();
    assert_eq!(all.len(), ROUTES.len());
}

#[tokio::test]
async fn while_draining_reading_goes_on_and_the_rest_is_refused() {
    let edge = Edge::new();
    edge.phase
        .send_replace(treewarden_actors::EdgePhase::Draining);
    for route in ROUTES {
        let answer = edge.send(with_token(route, Some("all"))).await;
        match (route.verb, route.action) {
            (Verb::Post, _) | (_, Action::Ready) => {
                assert_eq!(
                    answer.problem(),
                    (503, "shutting_down".to_owned()),
                    "{route:?}"
                );
            }
            (Verb::Get, _) => assert!(
                answer.status == 200 || edge.node.asked().is_empty(),
                "{route:?}"
            ),
        }
    }
    assert_eq!(
        edge.node.asked(),
        ["logs ledger 100"],
        "no verb and no call came through"
    );
}

/// The table as the contract has it; faults are no part of it.
#[test]
fn operations_are_those_of_the_contract() {
    let row = |route: &Route| {
        let access = match route.access {
            Access::Open => "open",
            Access::Needs(operation) => operation.as_str(),
        };
        format!("{:?} {} {access}", route.verb, route.path)
    };
    let rows: Vec<String> = ROUTES
        .iter()
        .map(row)
        .filter(|row| !row.ends_with("debug.faults"))
        .collect();
    let expected = [
        "Get /livez open",
        "Get /readyz open",
        "Get /api/console/node node.view",
        "Get /api/console/entries entries.view",
        "Get /api/console/entries/{name} entries.view",
        "Get /api/console/entries/{name}/logs entries.view",
        "Post /api/console/entries/{name}/start entries.manage",
        "Post /api/console/entries/{name}/stop entries.manage",
        "Post /api/console/entries/{name}/restart entries.manage",
        "Post /api/console/entries/{name}/kill entries.manage",
        "Post /api/console/entries/{name}/reset entries.manage",
        "Post /api/console/entries/{name}/call entries.call",
        "Post /api/console/reload entries.manage",
        "Get /debug/actors debug.actors.view",
        "Get /debug/actors/{id} debug.actors.view",
    ];
    assert_eq!(rows, expected);
}
