//! Frames of the log.
//!
//! ```text
//! length u32 │ crc32c u32 │ payload:  sequence u64 │ codec u8 │ kind u8 │ body
//! ```
//!
//! The length counts the payload, which is never empty: a tail of zeros, as a power loss leaves it, is no frame. The checksum covers the length too.
//! Sequence numbers grow by one, so a lost or repeated stretch is noticed.

/// Bytes before the payload.
pub(crate) const HEADER: usize = 8;
/// Bytes of the payload before the body.
const PAYLOAD_HEADER: usize = 10;
const PAYLOAD_MAX: usize = 16 * 1024;
const CODEC_BINCODE: u8 = 1;

/// A frame as it was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Frame<'a> {
    pub(crate) sequence: u64,
    pub(crate) kind: u8,
    pub(crate) codec_known: bool,
    pub(crate) body: &'a [u8],
    /// Bytes it takes in the file.
    pub(crate) size: usize,
}

fn checksum(length: [u8; 4], payload: &[u8]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(&length), payload)
}

/// Appends a frame to `out`; answers whether the body was small enough.
#[must_use]
pub(crate) fn write(out: &mut Vec<u8>, sequence: u64, kind: u8, body: &[u8]) -> bool {
    let size = PAYLOAD_HEADER + body.len();
    let Some(length) = u32::try_from(size).ok().filter(|_| size <= PAYLOAD_MAX) else {
        return false;
    };
    let length = length.to_be_bytes();
    let mut payload = Vec::with_capacity(size);
    payload.extend_from_slice(&sequence.to_be_bytes());
    payload.extend_from_slice(&[CODEC_BINCODE, kind]);
    payload.extend_from_slice(body);
    out.extend_from_slice(&length);
    out.extend_from_slice(&checksum(length, &payload).to_be_bytes());
    out.extend_from_slice(&payload);
    true
}

/// The frame at the beginning of `bytes`; `None` if there is none that is whole.
pub(crate) fn read(bytes: &[u8]) -> Option<Frame<'_>> {
    let (length, rest) = bytes.split_first_chunk::<4>()?;
    let (crc, rest) = rest.split_first_chunk::<4>()?;
    let size = usize::try_from(u32::from_be_bytes(*length)).ok()?;
    if !(PAYLOAD_HEADER..=PAYLOAD_MAX).contains(&size) {
        return None;
    }
    let payload = rest.get(..size)?;
    if checksum(*length, payload) != u32::from_be_bytes(*crc) {
        return None;
    }
    let (sequence, rest) = payload.split_first_chunk::<8>()?;
    let (&[codec, kind], body) = rest.split_first_chunk::<2>()?;
    Some(Frame {
        sequence: u64::from_be_bytes(*sequence),
        kind,
        codec_known: codec == CODEC_BINCODE,
        body,
        size: HEADER + size,
    })
}

/// Whether a whole frame newer than `last` begins anywhere in `bytes`: then what lies before it is no torn tail, but damage in the middle.
pub(crate) fn follows(bytes: &[u8], last: u64) -> bool {
    // Tails hold one group at most, so a sequence far ahead is chance, and is sorted out before its checksum is counted.
    let near = last.saturating_add(1)..=last.saturating_add(1 << 20);
    (0..bytes.len()).any(|at| {
        let Some(rest) = bytes.get(at..) else {
            return false;
        };
        let Some(sequence) = rest
            .get(HEADER..HEADER + 8)
            .and_then(|raw| raw.first_chunk::<8>())
        else {
            return false;
        };
        near.contains(&u64::from_be_bytes(*sequence)) && read(rest).is_some()
    })
}
