//! Operating-system text in JSON: a string where it is UTF-8 (nearly always), else its bytes.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

#[derive(Serialize)]
#[serde(untagged)]
enum Borrowed<'a> {
    Text(&'a str),
    Bytes(&'a [u8]),
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Owned {
    Text(String),
    Bytes(Vec<u8>),
}

/// One piece of operating-system text.
pub(super) struct OsText(pub(super) OsString);

impl Serialize for OsText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        borrowed(&self.0).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for OsText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self(match Owned::deserialize(deserializer)? {
            Owned::Text(text) => text.into(),
            Owned::Bytes(bytes) => OsString::from_vec(bytes),
        }))
    }
}

fn borrowed(text: &OsStr) -> Borrowed<'_> {
    text.to_str()
        .map_or_else(|| Borrowed::Bytes(text.as_bytes()), Borrowed::Text)
}

/// For `#[serde(with = …)]` on paths.
pub(super) mod path {
    use std::path::{Path, PathBuf};

    use super::{Deserialize, Deserializer, OsText, Serialize, Serializer, borrowed};

    pub(in super::super) fn serialize<S: Serializer>(
        path: &Path,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        borrowed(path.as_os_str()).serialize(serializer)
    }

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<PathBuf, D::Error> {
        Ok(OsText::deserialize(deserializer)?.0.into())
    }
}

/// For `#[serde(with = …)]` on lists of arguments.
pub(super) mod list {
    use std::ffi::OsString;

    use super::{Deserialize, Deserializer, OsText, Serializer, borrowed};

    pub(in super::super) fn serialize<S: Serializer>(
        list: &[OsString],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(list.iter().map(|text| borrowed(text)))
    }

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<OsString>, D::Error> {
        Ok(Vec::<OsText>::deserialize(deserializer)?
            .into_iter()
            .map(|text| text.0)
            .collect())
    }
}

/// For `#[serde(with = …)]` on environments.
pub(super) mod pairs {
    use std::ffi::OsString;

    use super::{Deserialize, Deserializer, OsText, Serializer, borrowed};

    pub(in super::super) fn serialize<S: Serializer>(
        pairs: &[(OsString, OsString)],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(
            pairs
                .iter()
                .map(|(name, value)| (borrowed(name), borrowed(value))),
        )
    }

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<(OsString, OsString)>, D::Error> {
        let pairs = Vec::<(OsText, OsText)>::deserialize(deserializer)?;
        Ok(pairs
            .into_iter()
            .map(|(name, value)| (name.0, value.0))
            .collect())
    }
}
