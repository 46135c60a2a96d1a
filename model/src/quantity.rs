//! Durations and sizes as people write them (SUP-27).

use std::time::Duration;

/// Longest duration accepted anywhere: a year. Longer ones overflow timers or are mistakes.
pub const DURATION_MAX: Duration = Duration::from_secs(365 * 24 * 3600);

/// Why a text is no duration or size. The caller adds the key; the value is named here.
#[derive(Debug, Clone, PartialEq, Eq, Hash, thiserror::Error)]
pub enum QuantityError {
    /// Not `30 seconds`, `500 millis`, `2m`.
    #[error(
        "\"{value}\" is no duration: {why}; write a number with a unit, such as \"30 seconds\", \"500 millis\" or \"2m\""
    )]
    Duration {
        /// What was written.
        value: String,
        /// What is wrong with it.
        why: String,
    },
    /// Zero where something positive is needed.
    #[error("\"{0}\" must be longer than zero")]
    Zero(String),
    /// Longer than [`DURATION_MAX`].
    #[error("\"{0}\" is longer than a year, the most that is accepted")]
    TooLong(String),
    /// Not `256 MiB`, `1 GiB` or a number of bytes.
    #[error(
        "\"{0}\" is no size: write a number of bytes, or one with KiB, MiB, GiB or TiB, such as \"256 MiB\""
    )]
    Size(String),
}

fn shown(text: &str) -> String {
    text.chars().take(80).collect()
}

/// Reads a duration of zero or more.
///
/// # Errors
/// Negative, infinite, overflowing, empty, unitless or nonsense values, and more than a year.
pub fn duration(text: &str) -> Result<Duration, QuantityError> {
    let trimmed = text.trim();
    let value = humantime::parse_duration(trimmed).map_err(|error| QuantityError::Duration {
        value: shown(text),
        why: error.to_string(),
    })?;
    // humantime reads a bare "0"; here a unit is part of the form.
    if trimmed.bytes().all(|b| b.is_ascii_digit()) {
        return Err(QuantityError::Duration {
            value: shown(text),
            why: "time unit needed".to_owned(),
        });
    }
    if value > DURATION_MAX {
        return Err(QuantityError::TooLong(shown(text)));
    }
    Ok(value)
}

/// Reads a duration longer than zero.
///
/// # Errors
/// As [`duration`], and zero.
pub fn positive_duration(text: &str) -> Result<Duration, QuantityError> {
    let value = duration(text)?;
    if value.is_zero() {
        Err(QuantityError::Zero(shown(text)))
    } else {
        Ok(value)
    }
}

/// Reads a size in bytes: `256 MiB`, `1 GiB`, `4096`.
///
/// # Errors
/// Anything else, zero, and what does not fit 2^53.
pub fn size(text: &str) -> Result<u64, QuantityError> {
    let bad = || QuantityError::Size(shown(text));
    let trimmed = text.trim();
    let digits = trimmed.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = trimmed.split_at_checked(digits).ok_or_else(bad)?;
    let number: u64 = number.parse().map_err(|_| bad())?;
    let scale: u64 = match unit.trim() {
        "" | "B" => 1,
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        "TiB" => 1 << 40,
        _ => return Err(bad()),
    };
    number
        .checked_mul(scale)
        .filter(|bytes| *bytes > 0 && *bytes < (1 << 53))
        .ok_or_else(bad)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// SUP-27
    #[test]
    fn durations_are_written_with_units() {
        assert_eq!(positive_duration("30 seconds"), Ok(Duration::from_secs(30)));
        assert_eq!(
            positive_duration("500 millis"),
            Ok(Duration::from_millis(500))
        );
        assert_eq!(positive_duration("2m"), Ok(Duration::from_secs(120)));
        assert_eq!(positive_duration("1 second"), Ok(Duration::from_secs(1)));
        assert_eq!(
            positive_duration("10 minutes"),
            Ok(Duration::from_secs(600))
        );
    }

    /// SUP-27
    #[test]
    fn zero_negative_infinite_overflowing_empty_unitless_and_nonsense_durations_are_refused_by_value()
     {
        for bad in [
            "0",
            "0 seconds",
            "-1 second",
            "infinity",
            "inf seconds",
            "NaN",
            "",
            "  ",
            "15",
            "soon",
            "99999999999999999999 seconds",
            "18446744073709551615 years",
            "1 fortnight",
            "400 days",
        ] {
            let error = positive_duration(bad).expect_err(bad);
            assert!(error.to_string().contains(bad.trim()), "{error}");
        }
    }

    #[test]
    fn sizes_are_bytes_or_binary_units() {
        assert_eq!(size("256 MiB"), Ok(256 << 20));
        assert_eq!(size("1GiB"), Ok(1 << 30));
        assert_eq!(size("4096"), Ok(4096));
        for bad in [
            "",
            "0",
            "MiB",
            "1 MB",
            "-1",
            "1.5 GiB",
            "99999999999999999999",
            "16777216 TiB",
        ] {
            assert!(size(bad).is_err(), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in any::<String>()) {
            drop((duration(&text), size(&text)));
        }
    }
}
