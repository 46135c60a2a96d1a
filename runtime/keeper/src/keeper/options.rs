//! The keeper's command line. Only [`start`](crate::start()) writes it, so its form is nobody else's business.

use std::ffi::OsString;
use std::path::PathBuf;

use crate::cgroup::CgroupUse;

const CGROUP: &str = "--cgroup";
const DATA_DIR: &str = "--data-dir";
const OPEN_FILES: &str = "--soft-open-files";
const SHIM: &str = "--shim";

/// What the keeper is told on its command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Options {
    pub(crate) data_dir: PathBuf,
    pub(crate) shim_program: PathBuf,
    pub(crate) shim_args: Vec<OsString>,
    pub(crate) soft_open_files: Option<u64>,
    pub(crate) cgroup: CgroupUse,
}

impl Options {
    pub(crate) fn to_arguments(&self) -> Vec<OsString> {
        let mut arguments = vec![DATA_DIR.into(), self.data_dir.clone().into_os_string()];
        if let Some(limit) = self.soft_open_files {
            arguments.extend([OPEN_FILES.into(), limit.to_string().into()]);
        }
        arguments.extend([CGROUP.into(), self.cgroup.as_str().into()]);
        // Last: everything after the program is the shim's.
        arguments.extend([SHIM.into(), self.shim_program.clone().into_os_string()]);
        arguments.extend(self.shim_args.iter().cloned());
        arguments
    }

    /// Plugins get this soft limit of open files where the node named none.
    pub(super) fn with_default_open_files(mut self, soft: Option<u64>) -> Self {
        self.soft_open_files = self.soft_open_files.or(soft);
        self
    }

    pub(crate) fn from_arguments(arguments: impl IntoIterator<Item = OsString>) -> Option<Self> {
        let mut arguments = arguments.into_iter();
        let (mut data_dir, mut soft_open_files, mut cgroup) = (None, None, CgroupUse::default());
        loop {
            let name = arguments.next()?;
            let value = arguments.next()?;
            match name.to_str()? {
                DATA_DIR => data_dir = Some(PathBuf::from(value)),
                OPEN_FILES => soft_open_files = Some(value.to_str()?.parse().ok()?),
                CGROUP => cgroup = CgroupUse::from_word(value.to_str()?)?,
                SHIM => {
                    let shim_program = value.into();
                    return Some(Self {
                        data_dir: data_dir?,
                        shim_program,
                        shim_args: arguments.collect(),
                        soft_open_files,
                        cgroup,
                    });
                }
                _ => return None,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_round_trip() {
        let options = Options {
            data_dir: "/data".into(),
            shim_program: "/proc/self/exe".into(),
            shim_args: vec!["shim".into(), "--shim".into()],
            soft_open_files: Some(1024),
            cgroup: CgroupUse::WithoutKill,
        };
        assert_eq!(
            Options::from_arguments(options.to_arguments()),
            Some(options)
        );
        assert_eq!(Options::from_arguments(["--data-dir".into()]), None);
    }
}
