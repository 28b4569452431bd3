//! The process that has a port, from /proc.
//!
//! Sockets are found by their inodes, which only root sees of other users' processes.

use std::fs::{read_dir, read_link, read_to_string};

/// The state of a socket that listens.
const LISTENS: &str = "0A";

/// `pid 123 (name)` of the process that listens at this TCP port; none where it cannot be seen.
pub(super) fn owner(port: u16) -> Option<String> {
    let inodes: Vec<String> =
        ["/proc/net/tcp", "/proc/net/tcp6"].iter().flat_map(|table| listening(table, port)).collect();
    let is_one = |link: &str| inodes.iter().any(|inode| link == format!("socket:[{inode}]"));
    for process in read_dir("/proc").ok()?.flatten() {
        let path = process.path();
        let pid = process.file_name().to_string_lossy().parse::<u32>();
        let (Ok(pid), Ok(files)) = (pid, read_dir(path.join("fd"))) else { continue };
        let mut links = files.flatten().filter_map(|file| read_link(file.path()).ok());
        if links.any(|link| is_one(&link.to_string_lossy())) {
            let name = read_to_string(path.join("comm")).unwrap_or_default();
            return Some(format!("pid {pid} ({})", name.trim()));
        }
    }
    None
}

fn listening(table: &str, port: u16) -> Vec<String> {
    let text = read_to_string(table).unwrap_or_default();
    let of_port = |line: &str| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let (_, hexadecimal) = fields.get(1)?.rsplit_once(':')?;
        let is_it = u16::from_str_radix(hexadecimal, 16) == Ok(port) && fields.get(3) == Some(&LISTENS);
        is_it.then(|| fields.get(9).map(|inode| (*inode).to_owned())).flatten()
    };
    text.lines().skip(1).filter_map(of_port).collect()
}
