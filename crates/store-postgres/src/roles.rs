//! The names of the three roles (SEC-04), and SQL that mentions them.

use cardwire_store::StoreError;

/// `<prefix>_owner` owns the tables, `<prefix>_app` works for tenants, `<prefix>_system` works across them.
#[derive(Debug, Clone)]
pub(crate) struct Roles {
    pub(crate) owner: String,
    pub(crate) app: String,
    pub(crate) system: String,
}

impl Roles {
    /// The prefix stands in SQL as it is, hence only plain names are taken.
    pub(crate) fn new(prefix: &str) -> Result<Self, StoreError> {
        let legal = (1..=40).contains(&prefix.len())
            && prefix.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
            && !prefix.starts_with(|c: char| c.is_ascii_digit());
        if !legal {
            let why =
                "the role prefix must be 1 to 40 characters of a-z, 0-9 and _, not starting with a digit";
            return Err(StoreError::Internal(why.to_owned()));
        }
        let name = |role: &str| format!("{prefix}_{role}");
        Ok(Self { owner: name("owner"), app: name("app"), system: name("system") })
    }

    /// Puts the names into a statement.
    pub(crate) fn fill(&self, statement: &str) -> String {
        statement
            .replace("{owner}", &self.owner)
            .replace("{app}", &self.app)
            .replace("{system}", &self.system)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_that_is_not_a_plain_name_is_refused() {
        assert!(Roles::new("cardwire").is_ok());
        for bad in ["", "a-b", "A", "1a", "x;drop", "\""] {
            assert!(Roles::new(bad).is_err(), "{bad}");
        }
    }
}
