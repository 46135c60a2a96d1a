//! How deep a line nests.

/// Whether arrays and objects of a line nest deeper than `limit`.
///
/// Only an estimate for bytes that are no JSON, which the parser refuses afterwards anyway.
pub(super) fn exceeds(line: &[u8], limit: usize) -> bool {
    // Nearly every line has fewer brackets than the limit, and counting them is vectorized.
    let openers = line
        .iter()
        .filter(|byte| matches!(byte, b'{' | b'['))
        .count();
    openers > limit && walk(line, limit)
}

fn walk(line: &[u8], limit: usize) -> bool {
    let (mut depth, mut in_string, mut escaped) = (0_usize, false, false);
    for byte in line {
        if in_string {
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'"' => in_string = false,
                _ => {}
            }
            continue;
        }
        match byte {
            b'"' => in_string = true,
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > limit {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::exceeds;

    #[test]
    fn brackets_in_strings_do_not_count() {
        let line = format!("[\"{}\\\"{}\"]", "[".repeat(200), "[".repeat(200));
        assert!(!exceeds(line.as_bytes(), 128));
    }

    #[test]
    fn siblings_do_not_count() {
        let line = format!("[{}1]", "[1],".repeat(500));
        assert!(!exceeds(line.as_bytes(), 128));
    }

    #[test]
    fn the_limit_itself_is_allowed() {
        let nested = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
        assert!(!exceeds(nested(128).as_bytes(), 128));
        assert!(exceeds(nested(129).as_bytes(), 128));
    }
}
