//! The system calls that std lacks. Nothing unsafe.

use std::fs::File;
use std::io;
use std::path::Path;
use std::time::Duration;

use rustix::fs::FlockOperation;
use rustix::time::ClockId;

/// Free bytes for this user where `path` is.
pub(crate) fn free_space(path: &Path) -> io::Result<u64> {
    let state = rustix::fs::statvfs(path)?;
    Ok(state.f_bavail.saturating_mul(state.f_frsize))
}

/// File systems that lie about locks or syncs, by the magic number of statfs(2).
const REFUSED: [(u64, &str); 13] = [
    (0x6969, "NFS"),
    (0x517b, "SMB"),
    (0xfe53_4d42, "SMB"),
    (0xff53_4d42, "CIFS"),
    (0x6573_5546, "FUSE"),
    (0x0102_1997, "9P"),
    (0x00c3_6400, "Ceph"),
    (0x5346_414f, "AFS"),
    (0x6b41_4653, "AFS"),
    (0x7375_7245, "Coda"),
    (0x0bd0_0bd0, "Lustre"),
    (0x1983_0326, "BeeGFS"),
    (0x564c, "NCP"),
];

/// The kind of a network or FUSE file system; `None` for a local one.
pub(crate) fn refused_file_system(path: &Path) -> io::Result<Option<&'static str>> {
    let kind = rustix::fs::statfs(path)?.f_type;
    // Some architectures sign-extend the 32-bit number.
    let kind = u64::from_ne_bytes(kind.to_ne_bytes()) & 0xffff_ffff;
    Ok(refused_kind(kind))
}

fn refused_kind(kind: u64) -> Option<&'static str> {
    REFUSED
        .iter()
        .find(|(magic, _)| *magic == kind)
        .map(|(_, name)| *name)
}

/// Takes the lock, or says at once that someone else has it (`WouldBlock`). It belongs to the open file: the kernel frees it when the
/// process is gone, however it went.
pub(crate) fn lock(file: &File) -> io::Result<()> {
    Ok(rustix::fs::flock(
        file,
        FlockOperation::NonBlockingLockExclusive,
    )?)
}

/// Makes what a file holds survive a power loss.
pub(crate) fn sync_data(file: &File) -> io::Result<()> {
    Ok(rustix::fs::fdatasync(file)?)
}

/// Makes the names in a directory survive a power loss.
pub(crate) fn sync_directory(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

/// Time since some fixed moment, never stepping back.
pub(crate) fn monotonic() -> Duration {
    let now = rustix::time::clock_gettime(ClockId::Monotonic);
    Duration::new(
        u64::try_from(now.tv_sec).unwrap_or(0),
        u32::try_from(now.tv_nsec).unwrap_or(0),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SUP-19
    #[test]
    fn network_and_fuse_file_systems_are_refused() {
        assert_eq!(refused_kind(0x6969), Some("NFS"));
        assert_eq!(refused_kind(0x6573_5546), Some("FUSE"));
        assert_eq!(refused_kind(0xef53), None, "ext4");
        assert_eq!(refused_kind(0x0102_1994), None, "tmpfs");
    }
}
