use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::json;

use super::*;
use crate::name::{EntryName, ServiceName};
use crate::retry::RetryPolicy;

fn declaration() -> Declaration {
    Declaration {
        name: EntryName::parse("ledger").expect("a name"),
        source: Source::File,
        placement: Placement::Local,
        command: vec!["/opt/ledger".to_owned(), "--verbose".to_owned()],
        env: BTreeMap::from([
            ("COLOR".to_owned(), EnvValue::Literal("blue".to_owned())),
            ("KEY".to_owned(), EnvValue::File(PathBuf::from("/run/key"))),
        ]),
        config: json!({ "b": [1, 2.5, null, true], "a": { "text": "ä" } }),
        provides: vec![ServiceName::parse("ledger").expect("a name")],
        uses: vec![],
        limits: Limits {
            memory: Some(1 << 28),
            ..Limits::default()
        },
        retry: RetryPolicy::default(),
        shutdown_timeout: Duration::from_secs(5),
    }
}

fn hex(fingerprint: Fingerprint) -> String {
    fingerprint
        .as_bytes()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

/// SUP-39: it is on disk, so another value for the same declaration would start what somebody stopped.
#[test]
fn form_on_disk_does_not_change() {
    insta::assert_snapshot!(hex(declaration().fingerprint()), @r#"563d09f1a287dbb550473817a4c90ae9f1ce60c3694766e45c502cda8f27e79b"#);
}

/// SUP-01
#[test]
fn retry_is_no_part_of_it() {
    let mut other = declaration();
    other.retry = RetryPolicy::None;
    assert_eq!(declaration().fingerprint(), other.fingerprint());
}

#[test]
fn order_of_keys_and_sign_of_zero_make_no_difference() {
    let of = |text: &str| {
        Declaration {
            config: serde_json::from_str(text).expect("JSON"),
            ..declaration()
        }
        .fingerprint()
    };
    assert_eq!(
        of(r#"{"a":1,"b":{"c":2,"d":3}}"#),
        of(r#"{"b":{"d":3,"c":2},"a":1}"#)
    );
    assert_eq!(of("0.0"), of("-0.0"));
}

#[test]
fn neighbours_in_the_form_are_told_apart() {
    let of = |change: fn(&mut Declaration)| {
        let mut one = declaration();
        change(&mut one);
        one.fingerprint()
    };
    let all = [
        of(|_| {}),
        of(|d| d.command = vec!["/opt/ledger--verbose".to_owned()]),
        of(|d| d.command = vec!["/opt/ledger-".to_owned(), "-verbose".to_owned()]),
        of(|d| drop(d.env.remove("COLOR"))),
        of(|d| {
            let color = d.env.remove("COLOR").expect("set");
            d.env.insert("COLOUR".to_owned(), color);
        }),
        of(|d| d.config = json!({ "a": 1 })),
        of(|d| d.config = json!({ "b": 1 })),
        of(|d| {
            d.command = vec![
                "/opt/ledger".to_owned(),
                "--verb".to_owned(),
                "ose".to_owned(),
            ]
        }),
        of(|d| {
            drop(
                d.env
                    .insert("COLOR".to_owned(), EnvValue::Literal("red".to_owned())),
            )
        }),
        of(|d| {
            drop(
                d.env
                    .insert("KEY".to_owned(), EnvValue::Literal("/run/key".to_owned())),
            )
        }),
        of(|d| d.config = json!([])),
        of(|d| d.config = json!({})),
        of(|d| d.config = json!("")),
        of(|d| d.config = json!(1)),
        of(|d| d.config = json!(1.0)),
        of(|d| d.config = json!("1")),
        of(|d| std::mem::swap(&mut d.provides, &mut d.uses)),
        of(|d| {
            d.limits = Limits {
                processes: Some(1 << 28),
                ..Limits::default()
            }
        }),
        of(|d| d.shutdown_timeout = Duration::from_nanos(5)),
        of(|d| d.source = Source::Api),
    ];
    for (at, one) in all.iter().enumerate() {
        assert!(
            !all.iter().skip(at + 1).any(|other| other == one),
            "number {at} equals another"
        );
    }
}

#[test]
fn digest_is_not_shown_in_whole() {
    let shown = format!("{:?}", declaration().fingerprint());
    assert!(shown.len() < 30, "{shown}");
}
