//! How the keeper tells the shim what to become.
//!
//! Arguments can be read by every user of the machine, the environment only by the same one: so the plugin's
//! environment travels as environment, each name with a [`PREFIX`] that no loader, libc or runtime takes for its own.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::PathBuf;

use crate::identity::ProcessId;
use crate::mark::{LAUNCH_VARIABLE, Mark};
use crate::wire::{Limits, SpawnRequest, UserIds};

const PREFIX: u8 = b'+';
const NONE: &str = "-";

/// What the shim is told on its command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Arguments {
    pub(super) keeper: ProcessId,
    pub(super) mark: Mark,
    pub(super) soft_open_files: Option<u64>,
    pub(super) limits: Limits,
    pub(super) user: Option<UserIds>,
    pub(super) working_dir: PathBuf,
    pub(super) program: PathBuf,
    pub(super) args: Vec<OsString>,
}

impl Arguments {
    pub(crate) fn of(
        request: &SpawnRequest,
        keeper: ProcessId,
        soft_open_files: Option<u64>,
        limits: Limits,
    ) -> Self {
        Self {
            keeper,
            mark: request.mark,
            soft_open_files,
            limits,
            user: request.user.clone(),
            working_dir: request.working_dir.clone(),
            program: request.program.clone(),
            args: request.args.clone(),
        }
    }

    pub(crate) fn into_arguments(self) -> impl Iterator<Item = OsString> {
        let user = self.user.map(|user| {
            let numbers = [user.user, user.group].into_iter().chain(user.other_groups);
            numbers
                .map(|number| number.to_string())
                .collect::<Vec<_>>()
                .join(":")
        });
        let head = [
            self.keeper.to_string().into(),
            self.mark.encode().to_string().into(),
            number_or_none(self.soft_open_files),
            number_or_none(self.limits.open_files),
            number_or_none(self.limits.memory_bytes),
            user.unwrap_or_else(|| NONE.to_owned()).into(),
            self.working_dir.into_os_string(),
            self.program.into_os_string(),
        ];
        head.into_iter().chain(self.args)
    }

    pub(super) fn parse(arguments: impl IntoIterator<Item = OsString>) -> Option<Self> {
        let mut arguments = arguments.into_iter();
        let mut next = || arguments.next();
        Some(Self {
            keeper: ProcessId::try_from(next()?.to_str()?.parse::<i32>().ok()?).ok()?,
            mark: Mark::decode(next()?.to_str()?.parse().ok()?)?,
            soft_open_files: parse_number(&next()?)?,
            limits: Limits {
                open_files: parse_number(&next()?)?,
                memory_bytes: parse_number(&next()?)?,
                // Nothing that a process could set for itself.
                ..Limits::default()
            },
            user: parse_user(&next()?)?,
            working_dir: next()?.into(),
            program: next()?.into(),
            args: arguments.collect(),
        })
    }
}

fn number_or_none(number: Option<u64>) -> OsString {
    number
        .map_or_else(|| NONE.to_owned(), |number| number.to_string())
        .into()
}

/// The outer `Option` is whether it could be read, the inner one the value.
fn parse_number(text: &OsStr) -> Option<Option<u64>> {
    match text.to_str()? {
        NONE => Some(None),
        number => number.parse().ok().map(Some),
    }
}

fn parse_user(text: &OsStr) -> Option<Option<UserIds>> {
    let text = text.to_str()?;
    if text == NONE {
        return Some(None);
    }
    let mut numbers = text.split(':').map(str::parse::<u32>);
    let (user, group) = (numbers.next()?.ok()?, numbers.next()?.ok()?);
    let other_groups = numbers.collect::<Result<_, _>>().ok()?;
    Some(Some(UserIds {
        user,
        group,
        other_groups,
    }))
}

/// The environment that the shim is started with: the launch's text as it is, so that a process at the gate is found by
/// it too, and the rest under changed names.
pub(crate) fn shim_environment(request: &SpawnRequest) -> Vec<(OsString, OsString)> {
    let launch = (
        OsString::from(LAUNCH_VARIABLE),
        OsString::from(&request.launch_text.0),
    );
    let plugin = request
        .env
        .iter()
        .filter(|(name, _)| name != LAUNCH_VARIABLE)
        .map(|(name, value)| {
            let mut prefixed = vec![PREFIX];
            prefixed.extend_from_slice(name.as_bytes());
            (OsString::from_vec(prefixed), value.clone())
        });
    std::iter::once(launch).chain(plugin).collect()
}

/// The plugin's environment out of the shim's. What has no prefix was not the plugin's, but for the launch's text.
pub(super) fn plugin_environment(
    shim: impl Iterator<Item = (OsString, OsString)>,
) -> impl Iterator<Item = (OsString, OsString)> {
    shim.filter_map(|(name, value)| match name.as_bytes().split_first() {
        Some((&PREFIX, rest)) => Some((OsStr::from_bytes(rest).to_owned(), value)),
        _ if name == LAUNCH_VARIABLE => Some((name, value)),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mark::{LaunchText, NodeTag, Ordinal};

    fn request() -> SpawnRequest {
        SpawnRequest {
            mark: Mark {
                node: NodeTag::new(3),
                ordinal: Ordinal::new(4),
            },
            launch_text: LaunchText("node/entry/4".into()),
            program: "/bin/true".into(),
            args: vec!["-".into(), OsString::from_vec(vec![0xff, 0xfe])],
            env: vec![
                ("LD_PRELOAD".into(), "x".into()),
                (LAUNCH_VARIABLE.into(), "other".into()),
            ],
            working_dir: "/tmp".into(),
            limits: Limits {
                open_files: Some(9),
                ..Limits::default()
            },
            user: Some(UserIds {
                user: 1,
                group: 2,
                other_groups: vec![3, 4],
            }),
        }
    }

    #[test]
    fn arguments_round_trip() {
        let arguments = Arguments::of(
            &request(),
            ProcessId::current(),
            Some(1024),
            request().limits,
        );
        assert_eq!(
            Arguments::parse(arguments.clone().into_arguments()),
            Some(arguments)
        );
        assert_eq!(Arguments::parse([]), None);
    }

    #[test]
    fn environment_reaches_the_plugin_and_not_the_shim() {
        let shim = shim_environment(&request());
        assert!(shim.iter().all(|(name, _)| name != "LD_PRELOAD"));
        let plugin: Vec<_> = plugin_environment(shim.into_iter()).collect();
        let expected: [(OsString, OsString); 2] = [
            (LAUNCH_VARIABLE.into(), "node/entry/4".into()),
            ("LD_PRELOAD".into(), "x".into()),
        ];
        assert_eq!(plugin, expected);
    }
}
