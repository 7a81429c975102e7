//! Rows of the audit log, and their places in its chain.

use super::{Composite, Encoded, Fields, composite_to_sql};
use crate::number::to_bigint;
use cardwire_model::{ChainHead, NewAudit};
use tokio_postgres::types::Type;

/// A row of `audit` that has no `seq` and no place yet.
#[derive(Debug)]
pub(in crate::commit) struct NewAuditRow<'a> {
    pub(in crate::commit) project: &'a str,
    pub(in crate::commit) audit: &'a NewAudit,
}

/// The place of a row.
#[derive(Debug)]
pub(in crate::commit) struct Seal {
    pub(in crate::commit) seq: u64,
    pub(in crate::commit) head: ChainHead,
}

/// A row of `audit` of which only the number and the place are told.
#[derive(Debug)]
pub(in crate::commit) struct SealRow<'a> {
    pub(in crate::commit) project: &'a str,
    pub(in crate::commit) seal: &'a Seal,
}

composite_to_sql!(NewAuditRow<'_>, SealRow<'_>);

impl Composite for NewAuditRow<'_> {
    const TYPE: &'static str = "audit";

    fn put(&self, row: &mut Fields<'_>) -> Encoded<()> {
        let audit = self.audit;
        row.put(&Type::TEXT, &self.project)?;
        row.put_null(&Type::INT8);
        row.put(&Type::TEXT, &audit.actor)?;
        row.put(&Type::TEXT, &audit.action.as_str())?;
        row.put(&Type::TEXT, &audit.subject)?;
        row.put(&Type::TEXT, &audit.verdict.as_str())?;
        row.put(&Type::TEXT, &audit.detail.as_str())?;
        row.put(&Type::INT8, &audit.at.micros())?;
        row.put_null(&Type::INT8);
        row.put_null(&Type::BYTEA);
        Ok(())
    }
}

impl Composite for SealRow<'_> {
    const TYPE: &'static str = "audit";

    fn put(&self, row: &mut Fields<'_>) -> Encoded<()> {
        let Seal { seq, head } = self.seal;
        row.put(&Type::TEXT, &self.project)?;
        row.put(&Type::INT8, &to_bigint(*seq))?;
        // Who did what, to what, how it ended, and what is known about it.
        (0..5).for_each(|_| row.put_null(&Type::TEXT));
        row.put_null(&Type::INT8);
        row.put(&Type::INT8, &to_bigint(head.position))?;
        row.put(&Type::BYTEA, &head.hash.as_bytes().as_slice())
    }
}
