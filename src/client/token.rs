//! Where the token comes from. It is never shown.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use super::error::ClientError;

const VARIABLE: &str = "TREEWARDEN_TOKEN";
const DEFAULT_FILE: &str = "./treewarden-data/admin.token";

/// The token: from the file that was named, else from the environment, else from the default file.
///
/// # Errors
/// It is not there.
pub(super) fn find(named: Option<&Path>) -> Result<String, ClientError> {
    find_in(named, std::env::var_os(VARIABLE), Path::new(DEFAULT_FILE))
}

fn find_in(
    named: Option<&Path>,
    variable: Option<OsString>,
    default: &Path,
) -> Result<String, ClientError> {
    if let Some(path) = named {
        return read(path.to_owned());
    }
    match variable.filter(|value| !value.is_empty()) {
        // No token has a slash in it, so this can only mean a file.
        Some(value) if value.as_encoded_bytes().contains(&b'/') => read(value.into()),
        Some(value) => {
            let text = value.into_string().ok();
            text.and_then(|text| usable(&text))
                .ok_or_else(|| ClientError::NoToken {
                    from: VARIABLE.to_owned(),
                })
        }
        None => read(default.to_owned()),
    }
}

fn read(path: PathBuf) -> Result<String, ClientError> {
    match fs::read_to_string(&path) {
        Ok(text) => usable(&text).ok_or_else(|| ClientError::NoToken {
            from: path.display().to_string(),
        }),
        Err(error) => Err(ClientError::TokenFile { path, error }),
    }
}

/// A token fits into a header.
fn usable(text: &str) -> Option<String> {
    let token = text.trim();
    (!token.is_empty() && token.bytes().all(|byte| byte.is_ascii_graphic()))
        .then(|| token.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_wins_over_the_environment_and_the_environment_over_the_default() {
        let directory = tempfile::tempdir().unwrap();
        let in_directory = |name: &str| directory.path().join(name);
        fs::write(in_directory("named"), "from-file\n").unwrap();
        fs::write(in_directory("default"), "from-default\n").unwrap();
        let (named, default) = (in_directory("named"), in_directory("default"));
        let find = |named: Option<&Path>, variable: Option<OsString>| {
            find_in(named, variable, &default).unwrap()
        };
        assert_eq!(find(Some(&named), Some("from-env".into())), "from-file");
        assert_eq!(find(None, Some("from-env".into())), "from-env");
        assert_eq!(
            find(None, Some(named.clone().into_os_string())),
            "from-file"
        );
        assert_eq!(find(None, Some("".into())), "from-default");
        assert_eq!(find(None, None), "from-default");
        let missing = find_in(None, None, &in_directory("none"))
            .unwrap_err()
            .to_string();
        assert!(
            missing.contains("none can't be read") && missing.contains("--token-file"),
            "{missing}"
        );
    }

    #[test]
    fn what_is_no_token_is_refused_and_not_shown() {
        for bad in ["   ", "two words", "a\u{7}b"] {
            let error = find_in(None, Some(bad.into()), Path::new(DEFAULT_FILE)).unwrap_err();
            assert_eq!(error.to_string(), "TREEWARDEN_TOKEN holds no token");
        }
    }
}
