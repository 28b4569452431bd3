//! What a journal counts, for operators and for the recovery estimate.

/// Counts since a journal was opened; sizes as they are now.
#[derive(Clone, Debug, Default)]
pub struct Metrics {
    /// Records appended.
    pub records: u64,
    /// Bytes appended, frames included.
    pub bytes: u64,
    /// Times that a batch became durable.
    pub commits: u64,
    /// How long each `fdatasync` took, microseconds.
    pub sync_us: Histogram,
    /// Records that each commit made durable.
    pub batch_records: Histogram,
    /// Bytes appended and not yet durable.
    pub waiting_bytes: u64,
    /// Segments there are.
    pub segments: u64,
    /// Bytes of disk that segments, spares and the reserve take.
    pub disk_bytes: u64,
    /// Bytes of memory that hold the newest records.
    pub tail_bytes: u64,
    /// Reads that the newest records in memory answered.
    pub reads_from_memory: u64,
    /// Reads that went to the disk or its cache.
    pub reads_from_disk: u64,
    /// How long opening took, microseconds.
    pub opening_us: u64,
    /// Bytes of a torn tail that opening cut.
    pub cut_bytes: u64,
}

/// Values counted in buckets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Histogram {
    /// `(bound, count)`: values at most `bound` and above the bound before. The last bound is `u64::MAX`.
    pub buckets: Vec<(u64, u64)>,
    /// Sum of all values.
    pub sum: u64,
    /// The greatest value.
    pub max: u64,
}
