//! Lines: their length, their bytes, and what is broken.

use serde_json::json;

use crate::driver::Target;

const MAX_LINE: usize = 1024 * 1024;

crate::cases! {
    line_of_exactly_one_mebibyte_is_read_and_written
    too_long_line_ends_the_plugin
    too_long_answer_is_an_error
    broken_lines_end_the_plugin_after_its_finalizers
    many_requests_in_one_write_are_all_answered
    request_may_come_byte_by_byte
}

/// A call of `method` whose line has `bytes` bytes, its newline not counted.
fn padded_call(method: &str, bytes: usize) -> String {
    let line = |padding: &str| {
        json!({"jsonrpc": "2.0", "id": 1_000_000, "method": "service.call",
            "params": {"service": "conformance", "method": method, "params": padding, "timeout_ms": 20_000}})
        .to_string()
    };
    let line = line(&"x".repeat(bytes - line("").len()));
    assert_eq!(line.len(), bytes);
    line + "\n"
}

/// SUP-29
fn line_of_exactly_one_mebibyte_is_read_and_written(target: &Target) {
    let mut plugin = target.start().ready();
    plugin.raw(padded_call("echo", MAX_LINE).as_bytes());
    assert!(
        plugin.answer(&json!(1_000_000))["result"]
            .as_str()
            .unwrap()
            .len()
            > MAX_LINE - 200
    );

    let overhead = json!({"jsonrpc": "2.0", "id": 9, "result": ""})
        .to_string()
        .len();
    plugin.send(&json!({"jsonrpc": "2.0", "id": 9, "method": "service.call",
        "params": {"service": "conformance", "method": "big", "params": MAX_LINE - overhead, "timeout_ms": 20_000}}));
    assert_eq!(
        plugin.answer(&json!(9))["result"].as_str().unwrap().len(),
        MAX_LINE - overhead
    );
    plugin.send(&json!({"jsonrpc": "2.0", "id": 8, "method": "service.call",
        "params": {"service": "conformance", "method": "big", "params": MAX_LINE - overhead + 1, "timeout_ms": 20_000}}));
    assert_eq!(
        plugin.answer(&json!(8))["error"]["data"]["kind"],
        "capacity"
    );
}

/// SUP-29
fn too_long_line_ends_the_plugin(target: &Target) {
    let mut plugin = target.start().ready();
    plugin.raw(padded_call("echo", MAX_LINE + 1).as_bytes());
    let (status, log) = plugin.wait();
    assert_eq!(status.code(), Some(1));
    assert!(log.contains("longer than"), "{log}");
}

/// SUP-29
fn too_long_answer_is_an_error(target: &Target) {
    let mut plugin = target.start().ready();
    assert_eq!(plugin.call_error("big", json!(2 * MAX_LINE)).0, "capacity");
    assert_eq!(plugin.call("ping", json!(null)), "pong");
}

/// SUP-29
fn broken_lines_end_the_plugin_after_its_finalizers(target: &Target) {
    for (line, reason) in [
        (&b"\xff\xfe\n"[..], "UTF-8"),
        (b"{\"jsonrpc\":\"2.0\",\"method\":\"x\",\"unknown\":\"\xff\"}\n", "UTF-8"),
        (b"hello\n", "JSON"),
        (b"\n", "JSON"),
        (b"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":NaN}\n", "JSON"),
        (b"[]\n", "batch"),
        (b"3\n", "object"),
        (b"{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"x\"}\n", "jsonrpc"),
        (b"{\"jsonrpc\":\"2.0\",\"id\":1,\"id\":2,\"method\":\"x\"}\n", "twice"),
        (b"{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"x\"}\n", "id"),
        (b"{\"jsonrpc\":\"2.0\",\"id\":1}\n", "none of"),
        (b"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":1,\"error\":{\"code\":1,\"message\":\"\"}}\n", "more than one"),
    ] {
        let trace = tempfile::NamedTempFile::new().unwrap();
        let mut plugin = target.start_with(&[("CONFORMANCE_TRACE", trace.path().to_str().unwrap())]).ready();
        plugin.raw(line);
        let (status, log) = plugin.wait();
        assert_eq!(status.code(), Some(1), "{}", String::from_utf8_lossy(line));
        assert!(log.contains("broken line") && log.contains(reason), "{reason}: {log}");
        assert_eq!(std::fs::read_to_string(trace.path()).unwrap(), "second\nfirst\n");
    }
    let mut plugin = target.start().ready();
    plugin.raw(
        format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\",\"params\":{}{}}}\n",
            "[".repeat(5000),
            "]".repeat(5000)
        )
        .as_bytes(),
    );
    assert!(plugin.wait().1.contains("nested deeper"));
}

fn many_requests_in_one_write_are_all_answered(target: &Target) {
    let mut plugin = target.start().ready();
    let mut bytes = String::new();
    for id in 0..300 {
        let method = if id % 10 == 0 { "echo" } else { "inline_echo" };
        bytes += &json!({"jsonrpc": "2.0", "id": id, "method": "service.call",
            "params": {"service": "conformance", "method": method, "params": id, "timeout_ms": 20_000}})
        .to_string();
        bytes.push('\n');
    }
    plugin.raw(bytes.as_bytes());
    for id in 0..300 {
        assert_eq!(plugin.answer(&json!(id))["result"], id);
    }
}

fn request_may_come_byte_by_byte(target: &Target) {
    let mut plugin = target.start().ready();
    for byte in padded_call("echo", 400).as_bytes() {
        plugin.raw(&[*byte]);
    }
    assert!(plugin.answer(&json!(1_000_000))["result"].is_string());
}
