//! `[backup]`: the running server backs itself up to an object store.
//!
//! Credentials come from the environment, see docs/backup.md; none is a setting.

use std::path::PathBuf;

use crate::settings::define::group;

group! {
    /// Backups of the running server. On when `to` names a place. A node of a cluster is backed up by
    /// `stadium cluster backup` instead.
    pub struct Backup {
        /// Where to: `s3://BUCKET/PREFIX`, `gs://BUCKET/PREFIX`, `az://CONTAINER/PREFIX` or
        /// `file:///FOLDER`. Credentials come from the environment.
        to: Option<String> = None;
        /// Time from one backup to the next. What the last backup does not have is lost with the
        /// machine.
        every_s: u32 = 300, unit "s", in 1..=86_400, cost "more is lost when the machine is lost";
        /// Backups that are kept; older ones are removed. 0 keeps all that `keep_days` keeps.
        keep_max: u32 = 0, unit "backups", in 0..=1_000_000, cost "room in the store";
        /// Days for which every moment can be restored. 0 keeps all that `keep_max` keeps.
        keep_days: u32 = 7, unit "days", in 0..=36_500, cost "room in the store";
        /// Bytes of journal segments in which nothing is alive that stay on the disk until a backup
        /// has them. Beyond it the oldest go, and moments between two backups cannot be restored,
        /// only those of the backups.
        hold_bytes_max: u64 = 4_294_967_296, unit "bytes", in 0..=1_099_511_627_776, cost "as much disk while the store is away";
        /// Time for which journal segments with records of wallets stay on the local disk. Older
        /// ones move to `to` when a seal has closed their periods and the store was proved to have
        /// them. Then histories of that time are refused (WAL-035), and audits read it with
        /// `--backup`. 0 keeps all on the disk.
        wallet_local_s: u32 = 0, unit "s", in 0..=3_153_600_000, cost "disk for the journals of wallets";
        /// Bytes a second that uploads send at most, on average; 0 for no bound.
        upload_bytes_per_second: u64 = 0, unit "bytes/s", in 0..=1_000_000_000_000, cost "bandwidth and reads of the disk";
        /// File with a secret of at least 32 bytes, such as the output of `openssl rand -base64
        /// 48`. It seals the files with secrets of the data directory (`*.key`). Without it they
        /// are in no backup. Keep a copy elsewhere: it is in no backup itself.
        secrets_key_file: Option<PathBuf> = None;
    }
}
