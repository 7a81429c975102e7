//! The only place that makes ids and secrets.

use uuid::Uuid;

/// Makes fresh values.
pub trait IdSource: Send + Sync {
    /// A fresh machine id.
    fn uuid(&self) -> Uuid;
    /// 256 fresh random bits.
    fn secret(&self) -> [u8; 32];
}

/// uuid7 and the operating system's randomness.
pub struct SystemIds;

impl IdSource for SystemIds {
    fn uuid(&self) -> Uuid {
        Uuid::now_v7()
    }

    fn secret(&self) -> [u8; 32] {
        let mut bytes = [0; 32];
        // Without randomness no secret is safe to hand out, and nothing later could tell.
        if let Err(error) = getrandom::fill(&mut bytes) {
            panic!("the operating system gives no randomness: {error}");
        }
        bytes
    }
}
