//! Whole rows as values: a row of a table in one column of an answer, or many of them in an array.

use super::{Columns, Read, damaged, get};
use std::error::Error;
use tokio_postgres::types::{FromSql, Kind, Type};

/// A row of a table, in the order of its columns.
#[derive(Debug)]
pub(crate) struct Record<'a>(Vec<(Type, Option<&'a [u8]>)>);

impl<'a> FromSql<'a> for Record<'a> {
    /// How many fields, then the type, length and bytes of each.
    fn from_sql(ty: &Type, mut bytes: &'a [u8]) -> Result<Self, Box<dyn Error + Sync + Send>> {
        let count = take_number(&mut bytes)?;
        let mut fields = Vec::with_capacity(usize::try_from(count)?);
        for place in 0..count {
            let oid = take_number(&mut bytes)?.cast_unsigned();
            // The fields of a row that has no name are of types the driver knows.
            let ty = if let Kind::Composite(known) = ty.kind() {
                known.get(usize::try_from(place)?).map(|field| field.type_().clone())
            } else {
                Type::from_oid(oid)
            };
            let ty = ty.filter(|ty| ty.oid() == oid).ok_or("a field of an unknown type")?;
            let length = take_number(&mut bytes)?;
            let value = match usize::try_from(length) {
                Ok(length) => {
                    let (value, rest) = bytes.split_at_checked(length).ok_or("a field is cut off")?;
                    bytes = rest;
                    Some(value)
                }
                // -1 stands for null.
                Err(_) => None,
            };
            fields.push((ty, value));
        }
        Ok(Self(fields))
    }

    fn accepts(ty: &Type) -> bool {
        matches!(ty.kind(), Kind::Composite(_)) || *ty == Type::RECORD
    }
}

fn take_number(bytes: &mut &[u8]) -> Result<i32, Box<dyn Error + Sync + Send>> {
    let (number, rest) = bytes.split_first_chunk().ok_or("a row is cut off")?;
    *bytes = rest;
    Ok(i32::from_be_bytes(*number))
}

impl Columns for Record<'_> {
    fn value<'a, T: FromSql<'a>>(&'a self, column: usize) -> Option<T> {
        let (ty, value) = self.0.get(column)?;
        if !T::accepts(ty) {
            return None;
        }
        T::from_sql_nullable(ty, *value).ok()
    }

    fn name(&self, _: usize) -> &str {
        "a column"
    }
}

/// Reads the whole row that stands in a column.
pub(crate) fn record<T>(
    row: &impl Columns,
    column: usize,
    read: impl FnOnce(&Record<'_>) -> Read<T>,
) -> Read<T> {
    optional_record(row, column, read)?.ok_or_else(|| damaged("a row"))
}

/// The same when there may be none.
pub(crate) fn optional_record<T>(
    row: &impl Columns,
    column: usize,
    read: impl FnOnce(&Record<'_>) -> Read<T>,
) -> Read<Option<T>> {
    get::<Option<Record<'_>>>(row, column)?.map(|record| read(&record)).transpose()
}

/// Reads the rows that stand in a column as an array; none when it is null.
pub(crate) fn records<T>(
    row: &impl Columns,
    column: usize,
    read: impl FnMut(&Record<'_>) -> Read<T>,
) -> Read<Vec<T>> {
    let records = get::<Option<Vec<Record<'_>>>>(row, column)?.unwrap_or_default();
    records.iter().map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A row of (text 'ab', int8 null).
    const ROW: &[u8] = &[0, 0, 0, 2, 0, 0, 0, 25, 0, 0, 0, 2, b'a', b'b', 0, 0, 0, 20, 255, 255, 255, 255];

    #[test]
    fn fields_are_read_by_place_and_type() {
        let record = Record::from_sql(&Type::RECORD, ROW).unwrap();
        assert_eq!(record.value::<&str>(0), Some("ab"));
        assert_eq!(record.value::<Option<i64>>(1), Some(None));
        assert_eq!(record.value::<i64>(1), None, "null where there must be a value");
        assert_eq!(record.value::<i64>(0), None, "another type");
        assert_eq!(record.value::<&str>(2), None, "no such column");
    }

    #[test]
    fn a_row_that_is_cut_off_is_refused() {
        for end in 0..ROW.len() {
            assert!(Record::from_sql(&Type::RECORD, &ROW[..end]).is_err(), "{end}");
        }
    }
}
