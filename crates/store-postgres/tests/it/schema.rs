//! `schema.sql` is what the migrations make, for people to read and for review to see. Functions are left out: they
//! stand in `sql/`, each in a file of its own.
//!
//! `UPDATE_SCHEMA=1` writes it anew, with the `pg_dump` on the path.

use crate::scratch::Scratch;
use std::{path::Path, process::Command};

/// What the catalog says of everything in a database, one line each.
const CATALOG: &str = r"
SELECT format('table %s rls=%s force=%s options=%s acl=%s owner=%s', c.relname, c.relrowsecurity,
        c.relforcerowsecurity, c.reloptions, c.relacl, c.relowner::regrole)
    FROM pg_class c WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p')
UNION ALL
SELECT format('column %s.%s %s %s notnull=%s collation=%s identity=%s default=%s acl=%s', c.relname, a.attnum,
        a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull, a.attcollation::regcollation, a.attidentity,
        pg_get_expr(d.adbin, d.adrelid), a.attacl)
    FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
    LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
    WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p', 'c') AND a.attnum > 0
        AND NOT a.attisdropped
UNION ALL
SELECT format('constraint %s %s %s', conrelid::regclass, conname, pg_get_constraintdef(oid))
    FROM pg_constraint WHERE connamespace = 'public'::regnamespace
UNION ALL
SELECT format('index %s', indexdef) FROM pg_indexes WHERE schemaname = 'public'
UNION ALL
SELECT format('policy %s %s %s %s %s using=%s check=%s', tablename, policyname, permissive, roles, cmd, qual,
        with_check)
    FROM pg_policies WHERE schemaname = 'public'
UNION ALL
SELECT format('sequence %s start=%s increment=%s cache=%s', sequencename, start_value, increment_by, cache_size)
    FROM pg_sequences WHERE schemaname = 'public'
UNION ALL
SELECT format('trigger %s %s', tgrelid::regclass, pg_get_triggerdef(oid)) FROM pg_trigger WHERE NOT tgisinternal
ORDER BY 1";

#[tokio::test]
async fn schema_sql_makes_what_the_migrations_make() {
    let migrated = Scratch::new().await;
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("schema.sql");
    if std::env::var_os("UPDATE_SCHEMA").is_some() {
        std::fs::write(&file, dump(migrated.url())).unwrap();
    }
    let text = std::fs::read_to_string(&file).expect("schema.sql; UPDATE_SCHEMA=1 makes it");
    let from_file = Scratch::empty().await;
    from_file.execute(&text).await;
    let (expected, found) = (migrated.column(CATALOG).await, from_file.column(CATALOG).await);
    let hint = "schema.sql is not what the migrations make; UPDATE_SCHEMA=1 makes it anew";
    for line in &expected {
        assert!(found.contains(line), "{hint}\nnot in schema.sql: {line}");
    }
    for line in &found {
        assert!(expected.contains(line), "{hint}\nonly in schema.sql: {line}");
    }
    assert!(expected.len() > 150, "the catalog was read: {} lines", expected.len());
}

/// The schema as `pg_dump` prints it, without what differs from one program to the next.
fn dump(url: &str) -> String {
    let output = Command::new("pg_dump")
        .args(["--schema-only", "--dbname", url])
        .output()
        .expect("pg_dump is on the path");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let mut schema = String::from(
        "-- The schema as a whole without its functions (sql/), for reading. Made from the migrations (UPDATE_SCHEMA=1,\n\
         -- tests/it/schema.rs) and proven equal to them by the same test; the program never runs it.\n",
    );
    let (mut blank, mut in_function) = (false, false);
    for line in text.lines() {
        // `pg_dump` names each object in a comment; the rights to a function are an object, too.
        if line.starts_with("-- Name: ") {
            in_function = line.contains("; Type: FUNCTION;") || line.starts_with("-- Name: FUNCTION ");
        }
        let is_setting = line.starts_with("SET ") || line.contains("set_config('search_path'");
        if in_function || is_setting || line.starts_with("--") || line.starts_with('\\') {
            continue;
        }
        if line.is_empty() {
            blank = true;
            continue;
        }
        if std::mem::take(&mut blank) {
            schema.push('\n');
        }
        schema.push_str(line);
        schema.push('\n');
    }
    schema
}
