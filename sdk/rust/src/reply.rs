//! The answer to one request of the host.

use serde::Serialize;
use treewarden_protocol::{EncodeError, ErrorKind, ErrorObject, Id, encode_error, encode_result};

use crate::failure::Failure;

/// Appends exactly one answer to a buffer.
pub(crate) struct Reply<'a> {
    pub(crate) buffer: &'a mut Vec<u8>,
    pub(crate) id: Id<'a>,
    pub(crate) frame_bytes: usize,
}

impl Reply<'_> {
    /// Answers with a result.
    ///
    /// # Errors
    ///
    /// The result can't be written, or is longer than a line may be. Nothing was answered then.
    pub(crate) fn result<R: Serialize + ?Sized>(&mut self, result: &R) -> Result<(), Failure> {
        let start = self.buffer.len();
        let bytes = match encode_result(self.buffer, self.id, result) {
            Ok(()) => self.buffer.len() - start - 1,
            Err(EncodeError::TooLong { bytes }) => bytes,
            Err(error) => return Err(error.into()),
        };
        if bytes > self.frame_bytes {
            self.buffer.truncate(start);
            let message = format!(
                "the answer of {bytes} bytes is longer than a line of {}",
                self.frame_bytes
            );
            return Err(Failure::new(ErrorKind::Capacity, message));
        }
        Ok(())
    }

    /// Answers with an error. One whose details do not fit into a line is answered without them.
    pub(crate) fn error(&mut self, error: &ErrorObject) {
        let start = self.buffer.len();
        let written = encode_error(self.buffer, Some(self.id), error).is_ok();
        if !written || self.buffer.len() - start - 1 > self.frame_bytes {
            self.buffer.truncate(start);
            let short = ErrorObject::new(error.kind(), "the error's message is longer than a line");
            _ = encode_error(self.buffer, Some(self.id), &short);
        }
    }
}
