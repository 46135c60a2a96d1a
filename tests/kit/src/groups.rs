//! Control groups, seen from outside the node.

use std::path::{Path, PathBuf};

/// The folder that a node started from here makes its groups in; `None` where there is no version 2 or it can't be written.
pub fn root() -> Option<PathBuf> {
    let own = std::fs::read_to_string("/proc/self/cgroup").ok()?;
    let own = own.lines().find_map(|line| line.strip_prefix("0::/"))?;
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").ok()?;
    let mount = mounts.lines().find(|line| line.contains(" - cgroup2 "))?;
    let root = Path::new(mount.split(' ').nth(4)?).join(own);
    let thread = format!("{:?}", std::thread::current().id());
    let number: String = thread.chars().filter(char::is_ascii_digit).collect();
    let probe = root.join(format!("probe-{}-{number}", std::process::id()));
    std::fs::create_dir(&probe).ok()?;
    std::fs::remove_dir(&probe).ok()?;
    Some(root)
}

/// The best evidence that a node can give here.
pub fn best_evidence() -> &'static str {
    if root().is_some() { "cgroup" } else { "tree" }
}

/// The group of a process in version 2, as a path below the mount.
pub fn of(pid: u32) -> Option<String> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/cgroup")).ok()?;
    let path = text.lines().find_map(|line| line.strip_prefix("0::"))?;
    Some(path.to_owned())
}

/// The groups in a folder.
pub fn below(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .map(|entry| entry.path())
        .filter(|path| path.is_dir())
        .collect()
}
