//! `limits` of an entry's processes.

use serde_json::Value;

use crate::declaration::Limits;
use crate::declaration::problem::{Fault, Problems};
use crate::declaration::section::{Section, wrong_kind};

/// Less memory than this starts no program, and is most likely a number that lacks its unit: 1 MiB.
const MEMORY_MIN: u64 = 1 << 20;

/// Fewer descriptors than this start no program: it opens its libraries one by one beside the three it is given.
const OPEN_FILES_MIN: u64 = 8;

/// Most processes or open files that Linux can be set to allow.
const COUNT_MAX: u64 = 1 << 22;

/// Most processors, far above any machine.
const PROCESSORS_MAX: f64 = 4096.0;

pub(super) fn read(section: &mut Section<'_>, problems: &mut Problems) -> Limits {
    let mut section = section.section("limits", problems);
    let memory = section.size("memory", problems).filter(|bytes| {
        let enough = *bytes >= MEMORY_MIN;
        if !enough {
            problems.report(section.at("memory"), Fault::Refused(format!(
                "{bytes} bytes are less than 1 MiB, too little for any process; write the unit, such as \"256 MiB\""
            )));
        }
        enough
    });
    let processes = count(&mut section, "processes", 1, problems);
    let open_files = count(&mut section, "open_files", OPEN_FILES_MIN, problems);
    let cpu = cpu(&mut section, problems);
    section.finish(problems);
    Limits {
        memory,
        processes,
        open_files,
        cpu,
    }
}

fn count(
    section: &mut Section<'_>,
    key: &'static str,
    least: u64,
    problems: &mut Problems,
) -> Option<u64> {
    let value = section.take(key)?;
    let Value::Number(number) = value else {
        problems.report(section.at(key), wrong_kind(value, "a whole number"));
        return None;
    };
    let count = number
        .as_u64()
        .filter(|count| (least..=COUNT_MAX).contains(count));
    if count.is_none() {
        problems.report(
            section.at(key),
            Fault::Refused(format!(
                "{number} must be a whole number from {least} to {COUNT_MAX}"
            )),
        );
    }
    count
}

/// Written as a number of processors; kept in thousandths.
fn cpu(section: &mut Section<'_>, problems: &mut Problems) -> Option<u64> {
    let value = section.take("cpu")?;
    let Value::Number(number) = value else {
        problems.report(
            section.at("cpu"),
            wrong_kind(value, "a number of processors such as 0.5 or 2"),
        );
        return None;
    };
    let thousandths = number
        .as_f64()
        .filter(|cpu| *cpu <= PROCESSORS_MAX)
        .map(|cpu| (cpu * 1000.0).round())
        .filter(|cpu| *cpu >= 1.0);
    if thousandths.is_none() {
        problems.report(
            section.at("cpu"),
            Fault::Refused(format!(
                "{number} must be a number of processors from 0.001 to {PROCESSORS_MAX}"
            )),
        );
    }
    thousandths.map(|cpu| cpu as u64)
}
