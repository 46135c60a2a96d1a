//! The file of lines.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Seek, SeekFrom, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};

/// One line of the ledger; the first has index 1.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Entry {
    pub(crate) index: u64,
    pub(crate) text: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) writer: Option<String>,
}

/// An append-only file, one JSON object a line. Only where each line begins is kept in memory.
pub(crate) struct Journal {
    file: File,
    /// Where each entry begins; entry `index` is at `index - 1`.
    offsets: Vec<u64>,
    length: u64,
}

impl Journal {
    /// Opens the file, or begins one. Half a line at its end is an append that was never answered: it is cut off.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new()
            .read(true)
            .append(true)
            .create(true)
            .open(path)?;
        let (mut offsets, mut length) = (Vec::new(), 0);
        let mut reader = BufReader::new(&file);
        let mut line = Vec::new();
        loop {
            line.clear();
            let bytes = reader.read_until(b'\n', &mut line)?;
            if line.last() != Some(&b'\n') {
                break;
            }
            offsets.push(length);
            length += u64::try_from(bytes).map_err(io::Error::other)?;
        }
        file.set_len(length)?;
        Ok(Self {
            file,
            offsets,
            length,
        })
    }

    pub(crate) fn count(&self) -> usize {
        self.offsets.len()
    }

    /// Adds a line and waits until it is on disk. After an error the file is as before.
    pub(crate) fn append(&mut self, text: String, writer: Option<String>) -> io::Result<u64> {
        let index = u64::try_from(self.offsets.len() + 1).map_err(io::Error::other)?;
        let mut line = serde_json::to_vec(&Entry {
            index,
            text,
            writer,
        })?;
        line.push(b'\n');
        if let Err(error) = self.file.write_all(&line).and_then(|()| self.sync()) {
            self.file.set_len(self.length)?;
            return Err(error);
        }
        self.offsets.push(self.length);
        self.length += u64::try_from(line.len()).map_err(io::Error::other)?;
        Ok(index)
    }

    /// The entries from an index on.
    pub(crate) fn list(&self, from: u64, limit: usize) -> io::Result<Vec<Entry>> {
        let first = usize::try_from(from.saturating_sub(1)).unwrap_or(usize::MAX);
        let Some(offset) = self.offsets.get(first) else {
            return Ok(Vec::new());
        };
        let mut reader = BufReader::new(&self.file);
        reader.seek(SeekFrom::Start(*offset))?;
        let lines = reader.lines().take(limit.min(self.offsets.len() - first));
        lines
            .map(|line| serde_json::from_str(&line?).map_err(io::Error::from))
            .collect()
    }

    pub(crate) fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }
}

#[cfg(test)]
mod tests {
    use super::Journal;

    #[test]
    fn replacement_continues_and_half_a_line_is_cut_off() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ledger.jsonl");
        let mut journal = Journal::open(&path).unwrap();
        for text in ["a", "b\nb", "c"] {
            journal
                .append(text.to_owned(), Some("w".to_owned()))
                .unwrap();
        }
        drop(journal);
        let whole = std::fs::read(&path).unwrap();
        std::fs::write(&path, [&whole[..], b"{\"index\":4,\"te"].concat()).unwrap();

        let mut journal = Journal::open(&path).unwrap();
        assert_eq!(journal.count(), 3);
        assert_eq!(journal.append("d".to_owned(), None).unwrap(), 4);
        let texts = |from, limit| -> Vec<String> {
            journal
                .list(from, limit)
                .unwrap()
                .into_iter()
                .map(|entry| entry.text)
                .collect()
        };
        assert_eq!(texts(1, 10), ["a", "b\nb", "c", "d"]);
        assert_eq!(texts(2, 2), ["b\nb", "c"]);
        assert_eq!(texts(0, 1), ["a"]);
        assert!(texts(5, 10).is_empty());
    }
}
