//! What holds for any bytes and any values.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "test code"
)]

use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Map, Value};
use treewarden_protocol::{
    Incoming, LineSplitter, LineTooLong, MAX_LINE, RequestId, decode, encode_request,
};

fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        ".{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 64, 6, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..6).prop_map(Value::from),
            vec((".{0,6}", inner), 0..6).prop_map(|pairs| Value::Object(Map::from_iter(pairs))),
        ]
    })
}

/// Bytes that look like messages: the interesting neighbourhood of the grammar.
fn almost_message() -> impl Strategy<Value = Vec<u8>> {
    let token = prop_oneof![
        Just(r#""jsonrpc":"2.0""#),
        Just(r#""id":1"#),
        Just(r#""id":null"#),
        Just(r#""method":"m""#),
        Just(r#""method":"\""#),
        Just(r#""params":{}"#),
        Just(r#""result":[1e999,"\u0000"]"#),
        Just(r#""error":{"code":1,"message":"x"}"#),
        Just("{"),
        Just("}"),
        Just("["),
        Just("\""),
        Just(","),
    ];
    vec(token, 0..12).prop_map(|tokens| {
        tokens
            .join(",")
            .replace("{,", "{")
            .replace(",}", "}")
            .into_bytes()
    })
}

fn split(bytes: &[u8], sizes: &[usize]) -> Result<(Vec<Vec<u8>>, Vec<u8>), LineTooLong> {
    let (mut splitter, mut lines, mut rest, mut turn) = (LineSplitter::new(), Vec::new(), bytes, 0);
    while !rest.is_empty() {
        let (mut chunk, after) = rest.split_at(sizes[turn % sizes.len()].clamp(1, rest.len()));
        while let Some(line) = splitter.next_line(&mut chunk)? {
            lines.push(line.to_vec());
        }
        (rest, turn) = (after, turn + 1);
    }
    let partial = splitter.partial().to_vec();
    Ok((lines, partial))
}

proptest! {
    #[test]
    fn any_bytes_never_panic(bytes in vec(any::<u8>(), 0..300)) {
        _ = decode(&bytes);
    }

    #[test]
    fn any_almost_message_never_panics(bytes in almost_message(), cut in 0_usize..200) {
        _ = decode(&bytes);
        _ = decode(&bytes[..cut.min(bytes.len())]);
    }

    #[test]
    fn requests_come_back_as_they_went(id in any::<u64>(), method in ".{0,20}", params in any_value()) {
        let mut buffer = Vec::new();
        encode_request(&mut buffer, RequestId::new(id), &method, &params).unwrap();
        prop_assert_eq!(buffer.pop(), Some(b'\n'));
        prop_assert!(!buffer.contains(&b'\n'));
        let Incoming::Request(request) = decode(&buffer).unwrap() else { panic!("no request") };
        prop_assert_eq!(request.id.request_id(), Some(RequestId::new(id)));
        prop_assert_eq!(&*request.method, method.as_str());
        prop_assert_eq!(serde_json::from_str::<Value>(request.params.unwrap().get()).unwrap(), params);
    }

    /// However a stream is cut into chunks, the same lines come out.
    #[test]
    fn chunks_do_not_matter(lines in vec(vec(any::<u8>().prop_filter("newline", |b| *b != b'\n'), 0..150), 0..12), tail in "[a-z]{0,9}", sizes in vec(1_usize..200, 1..6)) {
        let mut bytes: Vec<u8> = lines.iter().flat_map(|line| line.iter().copied().chain([b'\n'])).collect();
        bytes.extend_from_slice(tail.as_bytes());
        prop_assert_eq!(split(&bytes, &sizes), Ok((lines, tail.into_bytes())));
    }
}

#[test]
fn splitter_accepts_the_limit_and_refuses_more_before_the_line_ends() {
    let mut bytes = vec![b'x'; MAX_LINE];
    bytes.push(b'\n');
    assert_eq!(split(&bytes, &[60_000]).unwrap().0.len(), 1);
    assert_eq!(split(&bytes, &[bytes.len()]).unwrap().0.len(), 1);
    bytes.insert(0, b'x');
    assert_eq!(split(&bytes, &[60_000]), Err(LineTooLong));
    assert_eq!(split(&bytes, &[bytes.len()]), Err(LineTooLong));
    assert_eq!(split(&bytes[..=MAX_LINE], &[60_000]), Err(LineTooLong));
}
