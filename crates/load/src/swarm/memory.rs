//! What a process of the swarm needs of memory for its devices.
//!
//! The kernel's account of anonymous pages: heap and stacks, without the program itself, and without what sockets
//! cost in the kernel.

use serde::{Deserialize, Serialize};

/// Anonymous memory of one process, in bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Memory {
    /// Before its first device.
    pub without_devices: u64,
    /// Now.
    pub now: u64,
}

/// Anonymous memory of this process; `None` where the system does not report it.
pub(crate) fn anonymous_bytes() -> Option<u64> {
    parse(&std::fs::read_to_string("/proc/self/status").ok()?)
}

fn parse(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes * 1_024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_account_is_read() {
        assert_eq!(parse("Name:\tx\nRssAnon:\t    5836 kB\nRssFile:\t 1 kB\n"), Some(5_836 * 1_024));
        assert_eq!(parse("Name:\tx\n"), None);
    }

    #[test]
    fn this_process_sees_itself_grow() {
        let before = anonymous_bytes().expect("Linux reports it");
        let grown = vec![1_u8; 64 << 20];
        assert!(anonymous_bytes().expect("Linux reports it") >= before + (48 << 20));
        assert!(grown.iter().all(|&byte| byte == 1));
    }
}
