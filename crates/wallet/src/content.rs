//! A hash of the client's content of a transfer, so that a repeated id with other content is
//! noticed.
//!
//! It stands in journals: it stays as it is for ever. It protects clients from their own mistakes, not from anybody's
//! intent.

use crate::{Kind, NewTransfer};

struct Mixer(u64);

impl Mixer {
    #[inline]
    fn word(&mut self, word: u64) {
        self.0 = (self.0 ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 ^= self.0 >> 32;
    }

    #[inline]
    fn bytes(&mut self, bytes: &[u8]) {
        self.word(bytes.len() as u64);
        let mut chunks = bytes.chunks_exact(8);
        for chunk in &mut chunks {
            self.word(u64::from_le_bytes(chunk.try_into().expect("eight bytes")));
        }
        if !chunks.remainder().is_empty() {
            let mut last = [0; 8];
            last[..chunks.remainder().len()].copy_from_slice(chunks.remainder());
            self.word(u64::from_le_bytes(last));
        }
    }
}

/// The hash of everything but the id.
pub(crate) fn content_of(transfer: &NewTransfer) -> u64 {
    let mut mixer = Mixer(0x5354_4144_4955_4d01);
    match &transfer.kind {
        Kind::Post { debit, credit, asset, amount } => {
            mixer.word(1);
            mixer.bytes(debit.as_str().as_bytes());
            mixer.bytes(credit.as_str().as_bytes());
            mixer.bytes(asset.as_str().as_bytes());
            mixer.word(*amount);
        }
        Kind::Hold { debit, credit, asset, amount, expires_after } => {
            mixer.word(2);
            mixer.bytes(debit.as_str().as_bytes());
            mixer.bytes(credit.as_str().as_bytes());
            mixer.bytes(asset.as_str().as_bytes());
            mixer.word(*amount);
            mixer.word(*expires_after);
        }
        Kind::Capture { hold, amount } => {
            mixer.word(3);
            mixer.bytes(&hold.0.to_be_bytes());
            mixer.word(u64::from(amount.is_some()));
            mixer.word(amount.unwrap_or(0));
        }
        Kind::Void { hold } => {
            mixer.word(4);
            mixer.bytes(&hold.0.to_be_bytes());
        }
        Kind::Reverse { transfer } => {
            mixer.word(5);
            mixer.bytes(&transfer.0.to_be_bytes());
        }
    }
    mixer.bytes(transfer.reference.as_bytes());
    mixer.bytes(&transfer.metadata);
    mixer.word(u64::from(transfer.effective.is_some()));
    mixer.word(transfer.effective.map_or(0, |at| at.0));
    mixer.0
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::content_of;
    use crate::{Kind, NewTransfer, TransferId};

    #[test]
    fn the_hash_of_a_content_never_changes() {
        let transfer = NewTransfer {
            id: TransferId(1),
            kind: Kind::Post {
                debit: "alice".parse().expect("a name"),
                credit: "@shop".parse().expect("a name"),
                asset: "EUR".parse().expect("an asset"),
                amount: 100,
            },
            reference: "order 7".into(),
            metadata: Bytes::from_static(b"\x01\x02"),
            effective: None,
        };
        assert_eq!(content_of(&transfer), CONTENT, "journals hold it");
        assert_ne!(content_of(&NewTransfer { reference: String::new(), ..transfer }), CONTENT);
    }

    const CONTENT: u64 = 8_394_761_711_487_655_744;
}
