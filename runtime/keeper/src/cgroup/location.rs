//! Where this process's own control group is in the file system.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

/// The extended attributes by which a service manager says that a group is left to whoever runs in it.
const DELEGATED: [&str; 2] = ["user.delegate", "trusted.delegate"];

/// A group that children can be made in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Location {
    /// Its folder.
    pub(super) folder: PathBuf,
    /// Its path within the hierarchy, as `/proc/PID/cgroup` has it; without a slash at the end.
    path: PathBuf,
}

impl Location {
    /// The group of this process; the one above where that is delegated and this one only a room in it, since a group
    /// that holds processes can give its children no controllers.
    pub(super) fn of_this_process() -> Option<Self> {
        let mounts = fs::read("/proc/self/mountinfo").ok()?;
        let own = fs::read("/proc/self/cgroup").ok()?;
        let own = find(&mounts, own_path(&own)?)?;
        Some(own.delegated_above().unwrap_or(own))
    }

    fn delegated_above(&self) -> Option<Self> {
        let above = Self {
            folder: self.folder.parent()?.to_owned(),
            path: self.path.parent()?.to_owned(),
        };
        (!is_delegated(&self.folder) && is_delegated(&above.folder)).then_some(above)
    }

    pub(super) fn path_below(&self, rest: &str) -> PathBuf {
        self.path.join(rest)
    }
}

fn is_delegated(folder: &Path) -> bool {
    DELEGATED.iter().any(|name| {
        let mut value = [0; 2];
        rustix::fs::getxattr(folder, *name, &mut value[..]) == Ok(1) && value.first() == Some(&b'1')
    })
}

/// The version 2 line of `/proc/PID/cgroup`.
pub(super) fn own_path(text: &[u8]) -> Option<&Path> {
    let path = text
        .split(|byte| *byte == b'\n')
        .find_map(|line| line.strip_prefix(b"0::"))?;
    Some(Path::new(OsStr::from_bytes(path)))
}

/// The folder of the group `own` under a version 2 mount that may be written. It may be mounted beside version 1.
fn find(mounts: &[u8], own: &Path) -> Option<Location> {
    // A group outside this group namespace.
    if own.components().any(|part| part.as_os_str() == "..") {
        return None;
    }
    mounts.split(|byte| *byte == b'\n').find_map(|line| {
        let mut fields = line.split(|byte| *byte == b' ');
        let (root, point) = (fields.nth(3)?, fields.next()?);
        let writable = fields
            .next()?
            .split(|byte| *byte == b',')
            .all(|option| option != b"ro");
        // Any number of optional fields, then a dash.
        let kind = fields.skip_while(|field| *field != b"-").nth(1)?;
        if kind != b"cgroup2" || !writable {
            return None;
        }
        let below = own.strip_prefix(unescape(root)).ok()?;
        Some(Location {
            folder: PathBuf::from(unescape(point)).join(below),
            path: own.to_owned(),
        })
    })
}

/// The kernel writes space, tab, newline and backslash as a backslash and three octal digits.
fn unescape(field: &[u8]) -> OsString {
    let mut text = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((first, tail)) = rest.split_first() {
        let code = tail
            .get(..3)
            .filter(|_| *first == b'\\')
            .and_then(|digits| u8::from_str_radix(str::from_utf8(digits).ok()?, 8).ok());
        text.push(code.unwrap_or(*first));
        rest = match code {
            Some(_) => tail.get(3..).unwrap_or_default(),
            None => tail,
        };
    }
    OsString::from_vec(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    const BESIDE_VERSION_1: &[u8] = b"\
31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755
32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu
41 31 0:38 / /sys/fs/cgroup/unified rw,relatime shared:7 master:3 - cgroup2 cgroup2 rw
";

    fn found(mounts: &[u8], own: &str) -> Option<(PathBuf, PathBuf)> {
        find(mounts, Path::new(own)).map(|location| (location.folder, location.path))
    }

    /// SUP-30: version 2 is found in mountinfo, wherever it is mounted.
    #[test]
    fn version_2_is_found_beside_version_1() {
        assert_eq!(
            found(BESIDE_VERSION_1, "/"),
            Some(("/sys/fs/cgroup/unified/".into(), "/".into()))
        );
        assert_eq!(
            found(BESIDE_VERSION_1, "/a/b"),
            Some(("/sys/fs/cgroup/unified/a/b".into(), "/a/b".into()))
        );
        assert_eq!(
            found(
                b"32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n",
                "/"
            ),
            None
        );
    }

    #[test]
    fn mount_of_a_part_leads_to_groups_within_it_only() {
        let mounts = b"9 1 0:38 /pod\\040one /cg rw - cgroup2 cgroup2 rw\n";
        assert_eq!(
            found(mounts, "/pod one/x"),
            Some(("/cg/x".into(), "/pod one/x".into()))
        );
        assert_eq!(found(mounts, "/other"), None);
        assert_eq!(found(mounts, "/pod one/../../x"), None);
    }

    #[test]
    fn mount_that_is_read_only_is_not_used() {
        let mounts = b"9 1 0:38 / /cg ro,nosuid - cgroup2 cgroup2 rw\n10 1 0:38 / /cg2 rw - cgroup2 cgroup2 rw\n";
        assert_eq!(found(mounts, "/x"), Some(("/cg2/x".into(), "/x".into())));
    }

    #[test]
    fn own_path_is_the_line_of_version_2() {
        let text = b"4:memory:/process\n0::/own\n";
        assert_eq!(own_path(text), Some(Path::new("/own")));
        assert_eq!(own_path(b"4:memory:/process\n"), None);
    }
}
