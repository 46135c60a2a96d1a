//! Query parameters: each is asked for by name, and one that nobody asked for is an error.

use axum::http::Uri;

use crate::problem::Problem;

/// The parameters of a request that are not read yet.
#[derive(Debug)]
pub(crate) struct Query(Vec<(String, String)>);

impl Query {
    /// Reads a target's query.
    ///
    /// # Errors
    /// It is no query.
    pub(crate) fn of(uri: &Uri) -> Result<Self, Problem> {
        axum::extract::Query::try_from_uri(uri)
            .map(|axum::extract::Query(pairs)| Self(pairs))
            .map_err(|_| Problem::invalid("query", "The query is not valid."))
    }

    /// The value of a parameter; `None` when it is absent.
    ///
    /// # Errors
    /// It is there twice.
    pub(crate) fn take(&mut self, name: &'static str) -> Result<Option<String>, Problem> {
        let Some(at) = self.0.iter().position(|(key, _)| key == name) else {
            return Ok(None);
        };
        let (_, value) = self.0.swap_remove(at);
        if self.0.iter().any(|(key, _)| key == name) {
            return Err(Problem::invalid(
                name,
                format!("The parameter \"{name}\" is there twice."),
            ));
        }
        Ok(Some(value))
    }

    /// A number from `least` to `most`, or `default`.
    ///
    /// # Errors
    /// Anything else.
    pub(crate) fn number(
        &mut self,
        name: &'static str,
        least: usize,
        most: usize,
        default: usize,
    ) -> Result<usize, Problem> {
        let Some(text) = self.take(name)? else {
            return Ok(default);
        };
        match text.parse::<usize>() {
            Ok(number) if (least..=most).contains(&number) => Ok(number),
            _ => {
                let detail =
                    format!("The parameter \"{name}\" must be a number from {least} to {most}.");
                Err(Problem::invalid(name, detail).with("limit", most))
            }
        }
    }

    /// Ends the reading.
    ///
    /// # Errors
    /// A parameter is left that nobody asked for.
    pub(crate) fn finish(self) -> Result<(), Problem> {
        match self.0.first() {
            None => Ok(()),
            Some((name, _)) => {
                let shown: String = name.chars().take(64).collect();
                Err(Problem::invalid(
                    &shown,
                    format!("There is no parameter \"{shown}\" here."),
                ))
            }
        }
    }
}
