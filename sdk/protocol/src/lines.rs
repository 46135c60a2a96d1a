//! Cutting a byte stream into lines.

use std::fmt;

use crate::MAX_LINE;

/// Capacity kept between lines; a rare long line does not keep its megabyte afterwards.
const KEPT_CAPACITY: usize = 16 * 1024;

/// Cuts chunks of a stream into lines of at most [`MAX_LINE`] bytes.
///
/// A line that lies whole in a chunk is handed out in place; only one that spans chunks is copied, so an idle stream holds
/// no memory. There is no IO here: the caller reads and hands over what it got.
///
/// ```
/// # use treewarden_protocol::LineSplitter;
/// let mut splitter = LineSplitter::new();
/// let mut lines = Vec::new();
/// for mut chunk in [&b"on"[..], b"e\ntwo\nth"] {
///     while let Some(line) = splitter.next_line(&mut chunk)? {
///         lines.push(line.to_vec());
///     }
/// }
/// assert_eq!(lines, [b"one", b"two"]);
/// assert_eq!(splitter.partial(), b"th");
/// # Ok::<(), treewarden_protocol::LineTooLong>(())
/// ```
#[derive(Debug, Default)]
pub struct LineSplitter {
    partial: Vec<u8>,
    handed_out: bool,
}

/// A line passed [`MAX_LINE`]. The stream can't be followed any further.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineTooLong;

impl fmt::Display for LineTooLong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line is longer than {MAX_LINE} bytes")
    }
}

impl std::error::Error for LineTooLong {}

impl LineSplitter {
    /// A splitter at the beginning of a line.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            partial: Vec::new(),
            handed_out: false,
        }
    }

    /// The next whole line, without its newline, taking what it used off the front of `chunk`.
    ///
    /// `None`: the chunk is used up, and an unfinished line is kept for the next one.
    ///
    /// # Errors
    ///
    /// [`LineTooLong`] as soon as a line passes the limit, before its end is seen: no more than the limit is ever kept.
    pub fn next_line<'a, 'c: 'a>(
        &'a mut self,
        chunk: &mut &'c [u8],
    ) -> Result<Option<&'a [u8]>, LineTooLong> {
        self.release();
        let Some(end) = find_newline(chunk) else {
            if self.partial.len() + chunk.len() > MAX_LINE {
                return Err(LineTooLong);
            }
            self.partial.extend_from_slice(chunk);
            *chunk = &[];
            return Ok(None);
        };
        let (line, rest) = chunk.split_at_checked(end).unwrap_or((chunk, &[]));
        if self.partial.len() + line.len() > MAX_LINE {
            return Err(LineTooLong);
        }
        *chunk = rest.split_first().map_or(&[], |(_, rest)| rest);
        if self.partial.is_empty() {
            return Ok(Some(line));
        }
        self.partial.extend_from_slice(line);
        self.handed_out = true;
        Ok(Some(&self.partial))
    }

    /// The unfinished line: what a stream that ends here has left half said.
    #[must_use]
    pub fn partial(&self) -> &[u8] {
        if self.handed_out { &[] } else { &self.partial }
    }

    fn release(&mut self) {
        if self.handed_out {
            self.handed_out = false;
            self.partial.clear();
            self.partial.shrink_to(KEPT_CAPACITY);
        }
    }
}

/// Looks at blocks first: without an early exit inside a block the comparison is vectorized.
fn find_newline(bytes: &[u8]) -> Option<usize> {
    const BLOCK: usize = 64;
    let is_newline = |byte: &u8| *byte == b'\n';
    let mut offset = 0;
    for block in bytes.chunks(BLOCK) {
        if block
            .iter()
            .fold(false, |found, byte| found | is_newline(byte))
        {
            return block
                .iter()
                .position(is_newline)
                .map(|position| offset + position);
        }
        offset += block.len();
    }
    None
}
