//! The command line.

use std::path::PathBuf;

use crate::faults::Faults;

/// What the command line says.
#[derive(Debug, Default)]
pub(crate) struct Options {
    /// Name in the trace.
    pub(crate) name: String,
    /// Services provided, each with every method.
    pub(crate) provides: Vec<String>,
    /// Services used; for readers of the process list only.
    pub(crate) uses: Vec<String>,
    /// Trace file.
    pub(crate) trace: Option<PathBuf>,
    /// Faults in force.
    pub(crate) faults: Faults,
}

/// Reads the command line; anything unknown ends the plugin with code 2, so that a test notices its typing error.
pub(crate) fn parse(arguments: &[String]) -> Options {
    let mut options = Options::default();
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        let Some(switch) = argument.strip_prefix("--") else {
            usage(argument)
        };
        let (key, mut value) = match switch.split_once('=') {
            Some((key, value)) => (key, Some(value.to_owned())),
            None => (switch, None),
        };
        let option = matches!(key, "name" | "provides" | "uses" | "trace");
        if value.is_none() && (option || Faults::takes_value(key)) {
            value = rest.next().cloned();
        }
        let value = value.unwrap_or_default();
        let list = || {
            value
                .split(',')
                .filter(|part| !part.is_empty())
                .map(str::to_owned)
                .collect()
        };
        match key {
            "name" => options.name = value,
            "provides" => options.provides = list(),
            "uses" => options.uses = list(),
            "trace" => options.trace = Some(value.into()),
            fault => {
                if options.faults.set(fault, &value).is_err() {
                    usage(argument);
                }
            }
        }
    }
    options
}

fn usage(argument: &str) -> ! {
    use std::io::Write as _;
    let _ = writeln!(std::io::stderr(), "faulty-plugin: what is {argument}?");
    std::process::exit(2)
}
