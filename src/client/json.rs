//! Indenting JSON without reading its values: numbers, keys and their order stay as they were sent.

/// `text`, which must be JSON, over several lines, without a newline at the end.
pub(super) fn indented(text: &str) -> String {
    let mut out = String::with_capacity(text.len().saturating_mul(2));
    let mut depth = 0_usize;
    let mut letters = text.chars().peekable();
    let mut in_string = false;
    while let Some(letter) = letters.next() {
        if in_string {
            out.push(letter);
            match letter {
                '\\' => out.extend(letters.next()),
                '"' => in_string = false,
                _ => {}
            }
            continue;
        }
        match letter {
            '"' => {
                in_string = true;
                out.push(letter);
            }
            '{' | '[' => {
                out.push(letter);
                while letters.next_if(|next| next.is_ascii_whitespace()).is_some() {}
                if let Some(close) = letters.next_if(|next| matches!(next, '}' | ']')) {
                    out.push(close);
                } else {
                    depth = depth.saturating_add(1);
                    line(&mut out, depth);
                }
            }
            '}' | ']' => {
                depth = depth.saturating_sub(1);
                line(&mut out, depth);
                out.push(letter);
            }
            ',' => {
                out.push(letter);
                line(&mut out, depth);
            }
            ':' => out.push_str(": "),
            letter if letter.is_ascii_whitespace() => {}
            letter => out.push(letter),
        }
    }
    out
}

fn line(out: &mut String, depth: usize) {
    out.push('\n');
    out.push_str(&"  ".repeat(depth));
}

/// `text`, which must be JSON, on one line.
pub(super) fn one_line(text: &str) -> String {
    // Line breaks stand only between tokens: inside a string they are escaped.
    text.trim().replace(['\n', '\r'], " ")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;

    #[test]
    fn numbers_and_order_stay_as_they_were() {
        let text = r#"{"z":1.50,"a":[12345678901234567890123,{}, [ ]],"b":"x,{\"[: \\"}"#;
        let expected = "{\n  \"z\": 1.50,\n  \"a\": [\n    12345678901234567890123,\n    {},\n    []\n  ],\n  \"b\": \"x,{\\\"[: \\\\\"\n}";
        assert_eq!(indented(text), expected);
        assert_eq!(one_line("{\"a\":\n1}"), "{\"a\": 1}");
    }

    fn values() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            ".*".prop_map(Value::from)
        ];
        leaf.prop_recursive(4, 64, 6, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
                prop::collection::hash_map(".*", inner, 0..6)
                    .prop_map(|map| map.into_iter().collect()),
            ]
        })
    }

    proptest! {
        #[test]
        fn indenting_is_what_serde_does(value in values()) {
            let expected = serde_json::to_string_pretty(&value).unwrap();
            prop_assert_eq!(indented(&value.to_string()), expected.clone());
            prop_assert_eq!(indented(&expected), expected);
        }
    }
}
