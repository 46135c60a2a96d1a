//! The table.

use std::io::Write as _;
use std::time::Duration;

use crate::cores::Cores;
use crate::samples::Samples;

/// Whether a row meets its target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    Met,
    Missed,
    /// A floor, or a figure for information.
    NoTarget,
}

impl Verdict {
    pub(crate) fn of(met: bool) -> Self {
        if met { Self::Met } else { Self::Missed }
    }

    const fn as_str(self) -> &'static str {
        match self {
            Self::Met => "ok",
            Self::Missed => "MISSED",
            Self::NoTarget => "",
        }
    }
}

/// A row.
#[derive(Debug)]
pub(crate) struct Row {
    cells: [String; 9],
    verdict: Verdict,
}

impl Row {
    /// A row of durations. `floor` is in words or empty.
    pub(crate) fn of_times(what: &str, cores: Cores, samples: &Samples) -> Self {
        Self::new(
            what,
            cores,
            [
                String::new(),
                micros(samples.percentile(50)),
                micros(samples.percentile(99)),
                micros(samples.best()),
                String::new(),
                String::new(),
            ],
        )
        .with_count(samples.count())
    }

    /// Any other row: floor, p50, p99, best, ratio, target.
    pub(crate) fn new(
        what: &str,
        cores: Cores,
        [floor, p50, p99, best, ratio, target]: [String; 6],
    ) -> Self {
        let cells = [
            what.to_owned(),
            cores.label(),
            floor,
            p50,
            p99,
            best,
            ratio,
            target,
            String::new(),
        ];
        Self {
            cells,
            verdict: Verdict::NoTarget,
        }
    }

    fn set(mut self, index: usize, text: String) -> Self {
        if let Some(cell) = self.cells.get_mut(index) {
            *cell = text;
        }
        self
    }

    pub(crate) fn with_floor(self, floor: Duration) -> Self {
        self.set(2, micros(floor))
    }

    pub(crate) fn with_ratio(self, ratio: f64) -> Self {
        self.set(6, format!("{ratio:.2}"))
    }

    pub(crate) fn with_count(self, count: usize) -> Self {
        self.set(8, count.to_string())
    }

    pub(crate) fn judged(self, target: &str, met: bool) -> Self {
        Self {
            verdict: Verdict::of(met),
            ..self.set(7, target.to_owned())
        }
    }

    pub(crate) fn is_met(&self) -> bool {
        self.verdict != Verdict::Missed
    }
}

const HEAD: [&str; 10] = [
    "figure",
    "cores",
    "floor",
    "p50",
    "p99",
    "best round",
    "ratio",
    "target",
    "n",
    "",
];

/// Prints the rows as a Markdown table.
pub(crate) fn print(rows: &[Row]) {
    let lines: Vec<Vec<String>> = std::iter::once(HEAD.map(ToOwned::to_owned).to_vec())
        .chain(rows.iter().map(|row| {
            let mut cells = row.cells.to_vec();
            cells.push(row.verdict.as_str().to_owned());
            cells
        }))
        .collect();
    let width = |column: usize| {
        lines
            .iter()
            .filter_map(|line| line.get(column))
            .map(|cell| cell.chars().count())
            .max()
    };
    let widths: Vec<usize> = (0..HEAD.len())
        .map(|column| width(column).unwrap_or_default())
        .collect();
    for (index, line) in lines.iter().enumerate() {
        let cells =
            line.iter()
                .zip(&widths)
                .enumerate()
                .map(|(column, (cell, width))| match column {
                    0 => format!(" {cell:<width$} "),
                    _ => format!(" {cell:>width$} "),
                });
        say(&format!("|{}|", cells.collect::<Vec<_>>().join("|")));
        if index == 0 {
            let rule = widths
                .iter()
                .enumerate()
                .map(|(column, width)| match column {
                    0 => format!(":{}", "-".repeat(width + 1)),
                    _ => format!("{}:", "-".repeat(width + 1)),
                });
            say(&format!("|{}|", rule.collect::<Vec<_>>().join("|")));
        }
    }
}

/// Writes a line to stdout.
pub(crate) fn say(line: &str) {
    // Whoever read the bench may have gone.
    writeln!(std::io::stdout(), "{line}").ok();
}

fn micros(time: Duration) -> String {
    let micros = time.as_secs_f64() * 1e6;
    if micros >= 100_000.0 {
        format!("{:.0} ms", micros / 1e3)
    } else if micros >= 1000.0 {
        format!("{:.2} ms", micros / 1e3)
    } else {
        format!("{micros:.1} µs")
    }
}
