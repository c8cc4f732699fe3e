//! Two roles for a team: the owner of the tables, and the user of servers, who changes rows and nothing else.

use std::fmt;

use tabellion_runtime::{Failure, FailureKind, spec::RowsSpec};

use super::shared::schema;
use crate::sql::quoted;

/// Maximum number of bytes of a role's name.
const MAX_BYTES: usize = 63;

/// SQL of the tables' owner, who made the log just now: roles that get rights to each new table can't rewrite the log.
pub(crate) const PROTECT_LOG: &str = "DO $$ DECLARE other regrole; BEGIN \
     FOR other IN SELECT DISTINCT grantee FROM pg_class, aclexplode(relacl) \
         WHERE pg_class.oid = 'change'::regclass AND grantee NOT IN (0, relowner) \
     LOOP EXECUTE format('REVOKE UPDATE, DELETE, TRUNCATE ON change FROM %s', other); END LOOP; \
     END $$";

/// The roles that share the work on a contract's rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Roles {
    owner: Name,
    user: Name,
}

/// Name of a role, which needs no escapes in SQL.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Name(String);

impl Name {
    fn parse(text: &str) -> Result<Self, Failure> {
        let is_in_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
        if !text.is_empty() && text.len() <= MAX_BYTES && text.bytes().all(is_in_name) {
            return Ok(Self(text.to_owned()));
        }
        let message = format!(
            "`{}` can't be a role's name: it has 1 to {MAX_BYTES} letters, digits, `_` and `-`",
            text.escape_debug()
        );
        Err(Failure::new(FailureKind::Invalid, message))
    }
}

impl fmt::Display for Name {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&quoted(&self.0))
    }
}

impl Roles {
    /// Returns the roles with these names.
    ///
    /// # Errors
    /// If a name has other characters than letters, digits, `_` and `-`, or both are the same.
    pub fn new(owner: &str, user: &str) -> Result<Self, Failure> {
        if owner == user {
            let message = format!("`{owner}` can't be both the owner of the tables and the user of servers");
            return Err(Failure::new(FailureKind::Invalid, message));
        }
        Ok(Self { owner: Name::parse(owner)?, user: Name::parse(user)? })
    }

    /// Returns the SQL with which an administrator makes the roles and the schema of a contract, in the database of its rows. It changes
    /// nothing that is there already, except for rights, and can be run again.
    pub fn sql(&self, spec: &RowsSpec) -> String {
        let (Self { owner, user }, schema) = (self, quoted(&schema(spec)));
        format!(
            "\
-- Roles for the rows of `{contract}`: {owner} makes and migrates the tables, {user} is the user of servers.
-- An administrator runs this in the database of the rows, before the first start. Passwords are set apart: \\password NAME
BEGIN;
DO $$ BEGIN
  IF to_regrole('{owner}') IS NULL THEN CREATE ROLE {owner} LOGIN; END IF;
  IF to_regrole('{user}') IS NULL THEN CREATE ROLE {user} LOGIN; END IF;
  -- The database is for these roles only.
  EXECUTE format('REVOKE ALL ON DATABASE %I FROM PUBLIC', current_database());
  EXECUTE format('GRANT CONNECT, CREATE ON DATABASE %I TO {owner}', current_database());
  EXECUTE format('GRANT CONNECT ON DATABASE %I TO {user}', current_database());
END $$;
-- Administrators who are no superusers need it for the rest.
GRANT {owner} TO CURRENT_USER;
CREATE SCHEMA IF NOT EXISTS {schema} AUTHORIZATION {owner};
REVOKE ALL ON SCHEMA {schema} FROM PUBLIC;
GRANT USAGE ON SCHEMA {schema} TO {user};
-- Tables of later versions, and schemas of `tabellion data migrate` and `recover`. The owner takes UPDATE and DELETE on the log away.
ALTER DEFAULT PRIVILEGES FOR ROLE {owner} GRANT USAGE ON SCHEMAS TO {user};
ALTER DEFAULT PRIVILEGES FOR ROLE {owner} GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO {user};
ALTER DEFAULT PRIVILEGES FOR ROLE {owner} GRANT USAGE ON SEQUENCES TO {user};
COMMIT;
",
            contract = spec.contract,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_roles_need_no_escapes() {
        let long = "r".repeat(64);
        for (owner, user, expected) in [
            ("owner", "app-1_B", None),
            ("same", "same", Some("both")),
            ("", "app", Some("``")),
            ("a\"b", "app", Some("role's name")),
            ("a$$b", "app", Some("role's name")),
            ("owner", "two words", Some("`two words`")),
            ("owner", &long, Some("63")),
        ] {
            let found = Roles::new(owner, user).err().map(|failure| failure.message);
            match (&found, expected) {
                (None, None) => {}
                (Some(found), Some(expected)) => assert!(found.contains(expected), "{found}"),
                _ => panic!("{owner} {user}: {found:?}"),
            }
        }
    }
}
