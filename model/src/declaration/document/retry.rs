//! `retry`: a map, or `none` (SUP-28).

use std::time::Duration;

use serde_json::Value;

use crate::declaration::problem::{Fault, Problems};
use crate::declaration::section::{Section, wrong_kind};
use crate::retry::{Exponential, RESTARTS_MAX, RetryPolicy};

/// Largest growth of a wait from one restart to the next.
const FACTOR_MAX: f64 = 1000.0;

const EXPECTED: &str = "a map such as { initial: 100 millis, max: 30 seconds }, or none";

pub(super) fn read(section: &mut Section<'_>, problems: &mut Problems) -> RetryPolicy {
    let path = section.at("retry");
    let value = match section.take("retry") {
        None => return RetryPolicy::default(),
        Some(Value::String(text)) if text == "none" => return RetryPolicy::None,
        Some(value @ Value::Object(_)) => value,
        Some(other) => {
            problems.report(path, wrong_kind(other, EXPECTED));
            return RetryPolicy::default();
        }
    };
    let defaults = Exponential::default();
    let mut section = Section::open(path, Some(value), problems);
    let initial = section.positive_duration("initial", problems);
    let max = section.positive_duration("max", problems);
    let factor_percent = factor(&mut section, problems);
    let restarts = restarts(&mut section, problems);
    let within = section.positive_duration("within", problems);
    let policy = Exponential {
        initial: initial.unwrap_or(defaults.initial),
        max: max.unwrap_or(defaults.max),
        factor_percent: factor_percent.unwrap_or(defaults.factor_percent),
        restarts: restarts.unwrap_or(defaults.restarts),
        within: within.unwrap_or(defaults.within),
    };
    if policy.initial > policy.max {
        let (key, note) = match (initial, max) {
            (None, _) => ("max", "initial is 100 millis unless set; "),
            (_, None) => ("initial", "max is 30 seconds unless set; "),
            _ => ("initial", ""),
        };
        problems.report(section.at(key), Fault::Refused(format!(
            "the first wait ({}) is longer than the longest ({}); {note}lower initial or raise max", written(policy.initial), written(policy.max)
        )));
    }
    section.finish(problems);
    RetryPolicy::Exponential(policy)
}

fn written(duration: Duration) -> humantime::FormattedDuration {
    humantime::format_duration(duration)
}

/// Written as a number such as 2 or 1.5; kept in hundredths.
fn factor(section: &mut Section<'_>, problems: &mut Problems) -> Option<u32> {
    let value = section.take("factor")?;
    let Value::Number(number) = value else {
        problems.report(
            section.at("factor"),
            wrong_kind(value, "a number such as 2 or 1.5"),
        );
        return None;
    };
    let factor = number
        .as_f64()
        .filter(|factor| (1.0..=FACTOR_MAX).contains(factor));
    if factor.is_none() {
        problems.report(
            section.at("factor"),
            Fault::Refused(format!(
                "{number} must be from 1 (every wait the same) to {FACTOR_MAX}; 2 doubles each wait"
            )),
        );
    }
    factor.map(|factor| (factor * 100.0).round() as u32)
}

fn restarts(section: &mut Section<'_>, problems: &mut Problems) -> Option<u32> {
    let value = section.take("restarts")?;
    let Value::Number(number) = value else {
        problems.report(section.at("restarts"), wrong_kind(value, "a whole number"));
        return None;
    };
    let restarts = number
        .as_u64()
        .and_then(|restarts| u32::try_from(restarts).ok())
        .filter(|restarts| *restarts <= RESTARTS_MAX);
    if restarts.is_none() {
        problems.report(
            section.at("restarts"),
            Fault::Refused(format!(
                "{number} must be a whole number from 0 to {RESTARTS_MAX}"
            )),
        );
    }
    restarts
}
