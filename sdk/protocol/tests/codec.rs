//! The codec of a line: what is a message, what is a broken line, and that both ends agree.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "test code"
)]

use serde_json::value::RawValue;
use serde_json::{Value, json};
use treewarden_protocol::service::ServiceCall;
use treewarden_protocol::{
    DecodeError, EncodeError, ErrorKind, ErrorObject, Incoming, MAX_DEPTH, MAX_LINE, RequestId,
    decode, encode_error, encode_notification, encode_request, encode_result, method,
};

fn broken(line: impl AsRef<[u8]>) -> DecodeError {
    decode(line.as_ref()).expect_err("a broken line")
}

fn raw(text: &str) -> Box<RawValue> {
    RawValue::from_string(text.to_owned()).unwrap()
}

#[test]
fn request_borrows_its_params() {
    let line = br#"{"jsonrpc":"2.0","id":7,"method":"service.call","params":{"service":"ledger","method":"ping","new":1}}"#;
    let Incoming::Request(request) = decode(line).unwrap() else {
        panic!("no request")
    };
    assert_eq!(request.method, method::SERVICE_CALL);
    assert_eq!(request.id.request_id(), Some(RequestId::new(7)));
    let params = request.params.unwrap();
    assert!(
        line.as_ptr_range().contains(&params.get().as_ptr()),
        "params were copied"
    );
    let call: ServiceCall<'_> = serde_json::from_str(params.get()).unwrap();
    assert!(matches!(call.service, std::borrow::Cow::Borrowed("ledger")));
    assert!(call.params.is_none());
}

#[test]
fn members_may_stand_in_any_order_with_white_space_and_strangers() {
    let line = "\t{ \"params\" : [1] , \"x\":{\"id\":1}, \"method\":\"m\", \"id\" : \"a b\", \"jsonrpc\":\"2.0\" }\r";
    let Incoming::Request(request) = decode(line.as_bytes()).unwrap() else {
        panic!("no request")
    };
    assert_eq!(request.id.as_json(), "\"a b\"");
    assert_eq!(request.id.request_id(), None);
}

#[test]
fn escaped_method_and_version_are_understood() {
    let line = br#"{"jsonrpc":"2\u002e0","method":"\u0024/cancel","params":{"id":3}}"#;
    let Incoming::Notification(notification) = decode(line).unwrap() else {
        panic!("no notification")
    };
    assert_eq!(notification.method, method::CANCEL);
}

#[test]
fn null_result_is_a_result() {
    let Incoming::Response(response) =
        decode(br#"{"jsonrpc":"2.0","id":1,"result":null}"#).unwrap()
    else {
        panic!()
    };
    assert_eq!(response.outcome.unwrap().get(), "null");
}

#[test]
fn error_without_kind_is_ascribed_by_its_code() {
    let kind = |code: i64, data: &str| {
        let line = format!(
            r#"{{"jsonrpc":"2.0","id":null,"error":{{"code":{code},"message":"m"{data}}}}}"#
        );
        let Incoming::Response(response) = decode(line.as_bytes()).unwrap() else {
            panic!()
        };
        assert!(response.id.is_none());
        response.outcome.unwrap_err().kind()
    };
    assert_eq!(kind(-32601, ""), ErrorKind::Invalid);
    assert_eq!(kind(4, ""), ErrorKind::Application);
    assert_eq!(kind(4, r#","data":"text""#), ErrorKind::Application);
    assert_eq!(
        kind(4, r#","data":{"kind":"capacity"}"#),
        ErrorKind::Capacity
    );
    assert_eq!(
        kind(4, r#","data":{"kind":"newer"}"#),
        ErrorKind::Other("newer".into())
    );
}

#[test]
fn broken_lines_are_told_apart() {
    assert_eq!(broken(b"\xff\xfe"), DecodeError::NotUtf8);
    assert_eq!(
        broken(b"{\"jsonrpc\":\"2.0\",\"method\":\"m\",\"unknown\":\"\xff\"}"),
        DecodeError::NotUtf8
    );
    assert!(matches!(broken(""), DecodeError::Syntax(_)));
    assert!(matches!(broken("hello"), DecodeError::Syntax(_)));
    assert!(matches!(
        broken(r#"{"jsonrpc":"2.0","id":1,"result":NaN}"#),
        DecodeError::Syntax(_)
    ));
    assert!(matches!(
        broken(r#"{"jsonrpc":"2.0","id":1,"result":1} {}"#),
        DecodeError::Syntax(_)
    ));
    assert!(matches!(
        broken(r#"{"jsonrpc":"2.0","method":"m""#),
        DecodeError::Syntax(_)
    ));
    assert_eq!(
        broken(r#"[{"jsonrpc":"2.0","method":"m"}]"#),
        DecodeError::Batch
    );
    assert_eq!(broken("[]"), DecodeError::Batch);
    assert_eq!(broken("3"), DecodeError::NotAnObject);
    assert_eq!(broken("null"), DecodeError::NotAnObject);
    assert_eq!(
        broken(r#"{"id":1,"method":"m"}"#),
        DecodeError::WrongVersion
    );
    assert_eq!(
        broken(r#"{"jsonrpc":"1.0","id":1,"method":"m"}"#),
        DecodeError::WrongVersion
    );
    assert_eq!(
        broken(r#"{"jsonrpc":2.0,"id":1,"method":"m"}"#),
        DecodeError::WrongVersion
    );
    assert_eq!(
        broken(r#"{"jsonrpc":"2.0","id":1,"id":1,"method":"m"}"#),
        DecodeError::DuplicateMember("id")
    );
    assert_eq!(
        broken(r#"{"jsonrpc":"2.0","id":1,"result":1,"result":1}"#),
        DecodeError::DuplicateMember("result")
    );
    assert_eq!(
        broken(r#"{"jsonrpc":"2.0","id":1,"method":5}"#),
        DecodeError::InvalidMethod
    );
    assert_eq!(
        broken(r#"{"jsonrpc":"2.0","id":1,"method":"\ud800"}"#),
        DecodeError::InvalidMethod
    );
    for id in ["null", "true", "[1]", "{}"] {
        assert_eq!(
            broken(format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"m"}}"#)),
            DecodeError::InvalidId
        );
        assert_eq!(
            broken(format!(r#"{{"jsonrpc":"2.0","id":{id},"result":1}}"#)),
            DecodeError::InvalidId
        );
    }
    let long = "1".repeat(300);
    assert_eq!(
        broken(format!(r#"{{"jsonrpc":"2.0","id":{long},"method":"m"}}"#)),
        DecodeError::InvalidId
    );
    assert_eq!(
        broken(r#"{"jsonrpc":"2.0","result":1}"#),
        DecodeError::MissingId
    );
    assert_eq!(
        broken(r#"{"jsonrpc":"2.0","error":{"code":1,"message":""}}"#),
        DecodeError::MissingId
    );
    assert_eq!(broken(r#"{"jsonrpc":"2.0","id":1}"#), DecodeError::Empty);
    assert_eq!(
        broken("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":1,\"error\":null}"),
        DecodeError::Ambiguous
    );
    assert_eq!(
        broken(r#"{"jsonrpc":"2.0","id":1,"method":"m","result":1}"#),
        DecodeError::Ambiguous
    );
    assert_eq!(
        broken(r#"{"jsonrpc":"2.0","id":1,"error":"no"}"#),
        DecodeError::InvalidError
    );
    assert_eq!(
        broken(r#"{"jsonrpc":"2.0","id":1,"error":{"message":"no code"}}"#),
        DecodeError::InvalidError
    );
}

#[test]
fn nesting_is_bounded() {
    let line = |depth: usize| {
        format!(
            r#"{{"jsonrpc":"2.0","id":1,"result":{}{}}}"#,
            "[".repeat(depth - 1),
            "]".repeat(depth - 1)
        )
    };
    assert!(decode(line(MAX_DEPTH).as_bytes()).is_ok());
    assert_eq!(broken(line(MAX_DEPTH + 1)), DecodeError::TooDeep);
    assert_eq!(broken("[".repeat(MAX_LINE)), DecodeError::TooDeep);
}

#[test]
fn whatever_decodes_can_also_be_parsed_into_a_tree() {
    let deepest = format!(
        r#"{{"jsonrpc":"2.0","id":1,"result":{}{}}}"#,
        "[".repeat(MAX_DEPTH - 1),
        "]".repeat(MAX_DEPTH - 1)
    );
    let Incoming::Response(response) = decode(deepest.as_bytes()).unwrap() else {
        panic!()
    };
    serde_json::from_str::<Value>(response.outcome.unwrap().get())
        .expect("within the parser's own bound");
}

#[test]
fn line_of_exactly_the_limit_passes_and_one_more_byte_does_not() {
    let mut buffer = b"before".to_vec();
    let mut empty = Vec::new();
    encode_request(&mut empty, RequestId::new(1), "m", "").unwrap();
    let room = MAX_LINE - (empty.len() - 1);
    encode_request(&mut buffer, RequestId::new(1), "m", &"x".repeat(room)).unwrap();
    let line = &buffer["before".len()..buffer.len() - 1];
    assert_eq!(line.len(), MAX_LINE);
    decode(line).unwrap();

    let mut buffer = b"before".to_vec();
    let error =
        encode_request(&mut buffer, RequestId::new(1), "m", &"x".repeat(room + 1)).unwrap_err();
    assert!(matches!(error, EncodeError::TooLong { bytes } if bytes == MAX_LINE + 1));
    assert_eq!(buffer, b"before");
    assert_eq!(broken(" ".repeat(MAX_LINE + 1)), DecodeError::TooLong);
}

#[test]
fn value_that_cannot_be_written_leaves_the_buffer_as_it_was() {
    let mut buffer = b"before".to_vec();
    let map = std::collections::BTreeMap::from([(vec![1_u8], 1)]);
    assert!(matches!(
        encode_notification(&mut buffer, "m", &map),
        Err(EncodeError::Serialize(_))
    ));
    assert_eq!(buffer, b"before");
}

#[test]
fn pretty_printed_raw_values_stay_on_one_line() {
    let mut buffer = Vec::new();
    encode_request(
        &mut buffer,
        RequestId::new(1),
        "m",
        &raw("{\r\n  \"a\\n\": 1\n}"),
    )
    .unwrap();
    assert_eq!(
        buffer
            .iter()
            .filter(|byte| matches!(byte, b'\n' | b'\r'))
            .count(),
        1
    );
    let Incoming::Request(request) = decode(&buffer[..buffer.len() - 1]).unwrap() else {
        panic!()
    };
    assert_eq!(
        serde_json::from_str::<Value>(request.params.unwrap().get()).unwrap(),
        json!({"a\n": 1})
    );
}

#[test]
fn answers_echo_any_id() {
    let line = br#"{"jsonrpc":"2.0","id":"q-\u0031","method":"m"}"#;
    let Incoming::Request(request) = decode(line).unwrap() else {
        panic!()
    };
    let id = request.id.to_owned_id();
    let mut buffer = Vec::new();
    encode_result(&mut buffer, id.as_id(), "pong").unwrap();
    encode_error(
        &mut buffer,
        Some(id.as_id()),
        &ErrorObject::new(ErrorKind::Denied, "no").with("limit", 3),
    )
    .unwrap();
    let lines: Vec<&[u8]> = buffer
        .trim_ascii_end()
        .split(|byte| *byte == b'\n')
        .collect();
    let Incoming::Response(result) = decode(lines[0]).unwrap() else {
        panic!()
    };
    let Incoming::Response(error) = decode(lines[1]).unwrap() else {
        panic!()
    };
    assert_eq!(result.id, Some(request.id));
    assert_eq!(result.outcome.unwrap().get(), "\"pong\"");
    let error = error.outcome.unwrap_err();
    assert_eq!(
        (error.kind(), error.data.unwrap()["limit"].clone()),
        (ErrorKind::Denied, json!(3))
    );
}
