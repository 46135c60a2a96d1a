//! Which launch an adopted process belongs to (SUP-32): decided once, when it is adopted.

use super::launch::Launch;
use crate::identity::StartTime;
use crate::mark::{LaunchText, Mark, Ordinal};

/// What is known of a process when it is adopted.
#[derive(Debug, Clone)]
pub(super) struct Traces {
    pub(super) mark: Option<Mark>,
    pub(super) text: Option<LaunchText>,
    pub(super) group: i32,
    pub(super) session: i32,
    pub(super) start_time: StartTime,
    /// The text of `/proc/PID/cgroup`, where launches have groups.
    pub(super) groups: Option<Vec<u8>>,
}

/// What one of the two marks says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Word {
    /// Nothing, or something about another node: a plugin may be a node itself.
    Silent,
    /// It names this living launch.
    Names(Ordinal),
    /// It names this node, and no living launch of it.
    Disagrees,
}

/// Finds the launch; `None` if the marks disagree, or nothing tells. A control group is more than a mark: everybody can
/// change its own environment, and what is in a launch's group has to go with it in any case.
pub(super) fn ascribe<'a>(
    traces: &Traces,
    launches: impl Iterator<Item = &'a Launch> + Clone,
) -> Option<Ordinal> {
    let living = launches.filter(|launch| launch.is_living());
    if let Some(launch) = by_group(traces, living.clone()) {
        return Some(launch);
    }
    match (
        mark_says(traces, living.clone()),
        text_says(traces, living.clone()),
    ) {
        (Word::Names(one), Word::Names(other)) => (one == other).then_some(one),
        (Word::Names(named), Word::Silent) | (Word::Silent, Word::Names(named)) => Some(named),
        (Word::Disagrees, _) | (_, Word::Disagrees) => None,
        (Word::Silent, Word::Silent) => {
            by_session(traces, living.clone()).or_else(|| by_elimination(traces.start_time, living))
        }
    }
}

fn by_group<'a>(traces: &Traces, mut living: impl Iterator<Item = &'a Launch>) -> Option<Ordinal> {
    let groups = traces.groups.as_deref()?;
    living
        .find(|launch| {
            launch
                .group
                .as_ref()
                .is_some_and(|group| group.holds(groups))
        })
        .map(Launch::ordinal)
}

fn mark_says<'a>(traces: &Traces, mut living: impl Iterator<Item = &'a Launch> + Clone) -> Word {
    let Some(mark) = traces.mark else {
        return Word::Silent;
    };
    if living.clone().any(|launch| launch.mark == mark) {
        Word::Names(mark.ordinal)
    } else if living.any(|launch| launch.mark.node == mark.node) {
        Word::Disagrees
    } else {
        Word::Silent
    }
}

fn text_says<'a>(traces: &Traces, mut living: impl Iterator<Item = &'a Launch> + Clone) -> Word {
    let Some(text) = &traces.text else {
        return Word::Silent;
    };
    if let Some(launch) = living.clone().find(|launch| launch.text == *text) {
        Word::Names(launch.ordinal())
    } else if living.any(|launch| launch.text.node() == text.node()) {
        Word::Disagrees
    } else {
        Word::Silent
    }
}

/// By the group or session that a leader founded. Only while the leader is unreaped: later its number may be another's.
fn by_session<'a>(
    traces: &Traces,
    mut living: impl Iterator<Item = &'a Launch>,
) -> Option<Ordinal> {
    let founder =
        |number: i32, launch: &Launch| launch.status.is_none() && launch.leader.pid.get() == number;
    living
        .find(|launch| founder(traces.group, launch) || founder(traces.session, launch))
        .map(Launch::ordinal)
}

fn by_elimination<'a>(
    start_time: StartTime,
    living: impl Iterator<Item = &'a Launch>,
) -> Option<Ordinal> {
    let mut possible = could_own(start_time, living);
    let only = possible.next()?;
    possible.next().is_none().then(|| only.ordinal())
}

/// The launches that a process of this start time can belong to: those that started no later than it.
pub(super) fn could_own<'a>(
    start_time: StartTime,
    launches: impl Iterator<Item = &'a Launch>,
) -> impl Iterator<Item = &'a Launch> {
    launches.filter(move |launch| launch.is_living() && launch.leader.start_time <= start_time)
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::*;
    use crate::cgroup::Group;
    use crate::identity::{ProcessId, ProcessIdentity};
    use crate::mark::NodeTag;
    use crate::outcome::{Evidence, ExitStatus};

    const NODE: u32 = 7;

    fn mark(node: u32, ordinal: u64) -> Mark {
        Mark {
            node: NodeTag::new(node),
            ordinal: Ordinal::new(ordinal),
        }
    }

    fn launch(ordinal: u64, pid: i32, start: u64) -> Launch {
        let leader = ProcessIdentity {
            pid: ProcessId::try_from(pid).unwrap(),
            start_time: StartTime(start),
        };
        let text = LaunchText(format!("node/entry/{ordinal}"));
        Launch::new(
            mark(NODE, ordinal),
            text,
            leader,
            File::open("/dev/null").unwrap().into(),
        )
    }

    fn traces(mark: Option<Mark>, text: Option<&str>) -> Traces {
        let text = text.map(|text| LaunchText(text.to_owned()));
        Traces {
            mark,
            text,
            group: 1,
            session: 1,
            start_time: StartTime(100),
            groups: None,
        }
    }

    fn both() -> [Launch; 2] {
        [launch(1, 1001, 10), launch(2, 1002, 20)]
    }

    fn found(traces: &Traces, launches: &[Launch]) -> Option<u64> {
        ascribe(traces, launches.iter()).map(Ordinal::get)
    }

    /// SUP-32
    #[test]
    fn each_mark_alone_ascribes_and_both_must_agree() {
        let launches = both();
        assert_eq!(
            found(&traces(Some(mark(NODE, 2)), None), &launches),
            Some(2)
        );
        assert_eq!(
            found(&traces(None, Some("node/entry/2")), &launches),
            Some(2)
        );
        assert_eq!(
            found(
                &traces(Some(mark(NODE, 2)), Some("node/entry/2")),
                &launches
            ),
            Some(2)
        );
        assert_eq!(
            found(
                &traces(Some(mark(NODE, 1)), Some("node/entry/2")),
                &launches
            ),
            None
        );
    }

    /// SUP-32: whatever its marks say, a process belongs to the launch whose group it is in.
    #[test]
    fn group_decides_before_every_mark() {
        let mut launches = both();
        launches[1].group = Some(Group::new(
            "/nowhere".into(),
            "/treewarden-x/2".into(),
            true,
        ));
        let mut inside = traces(Some(mark(NODE, 1)), Some("node/entry/9"));
        inside.groups = Some(b"0::/treewarden-x/2/deeper\n".to_vec());
        assert_eq!(found(&inside, &launches), Some(2));
        inside.groups = Some(b"0::/\n".to_vec());
        assert_eq!(found(&inside, &launches), None);
    }

    /// SUP-32: a mark of this node that names no living launch is a disagreement, even where elimination would answer.
    #[test]
    fn mark_of_no_living_launch_is_never_ascribed() {
        let launches = [launch(1, 1001, 10)];
        assert_eq!(found(&traces(Some(mark(NODE, 9)), None), &launches), None);
        assert_eq!(
            found(
                &traces(Some(mark(NODE, 1)), Some("node/entry/9")),
                &launches
            ),
            None
        );
        assert_eq!(found(&traces(None, Some("node/entry/9")), &launches), None);
    }

    /// SUP-32: a plugin that is a node itself has marks of its own.
    #[test]
    fn marks_of_another_node_say_nothing() {
        let launches = [launch(1, 1001, 10)];
        assert_eq!(
            found(
                &traces(Some(mark(NODE + 1, 9)), Some("other/entry/9")),
                &launches
            ),
            Some(1)
        );
        assert_eq!(
            found(
                &traces(Some(mark(NODE + 1, 9)), Some("node/entry/1")),
                &launches
            ),
            Some(1)
        );
    }

    /// SUP-18, SUP-32
    #[test]
    fn session_ascribes_only_while_its_leader_is_unreaped() {
        let mut launches = both();
        let mut stripped = traces(None, None);
        stripped.session = 1002;
        assert_eq!(found(&stripped, &launches), Some(2));
        launches[1].status = Some(ExitStatus::Code(0));
        assert_eq!(found(&stripped, &launches), None);
    }

    /// SUP-32
    #[test]
    fn elimination_needs_exactly_one_launch_that_started_no_later() {
        let mut launches = both();
        let mut stripped = traces(None, None);
        assert_eq!(found(&stripped, &launches), None);
        stripped.start_time = StartTime(15);
        assert_eq!(found(&stripped, &launches), Some(1));
        stripped.start_time = StartTime(5);
        assert_eq!(found(&stripped, &launches), None);
        stripped.start_time = StartTime(100);
        launches[0].gone = Some(Evidence::Tree);
        assert_eq!(found(&stripped, &launches), Some(2));
        assert_eq!(found(&stripped, &[]), None);
    }
}
