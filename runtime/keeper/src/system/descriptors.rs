//! Descriptors that were inherited.
#![expect(unsafe_code, reason = "neither rustix nor nix has close_range")]

use std::io;

/// Closes every descriptor above 2. Call it before the program has opened anything of its own.
pub(crate) fn close_inherited() -> io::Result<()> {
    // SAFETY: closing a descriptor that some object owns would be wrong; both callers call first thing in `main`, when
    // nothing but the three standard descriptors is owned by this program.
    let result = unsafe { libc::close_range(3, libc::c_uint::MAX, 0) };
    if result == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}
