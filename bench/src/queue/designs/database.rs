//! Makes a peer's tables before anybody is measured: statements over a blocking connection.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};

use super::mysql_wire::{Connection, Reply};

/// A table is made faster than this.
const ANSWER_MAX: Duration = Duration::from_secs(30);

/// Runs statements on MariaDB.
pub(super) fn prepare(address: SocketAddr, sql: &str) -> Result<()> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(ANSWER_MAX))?;
    let mut wire = Connection::new();
    let mut input = Vec::new();
    loop {
        let mut out = Vec::new();
        let mut reply = None;
        if let Some((length, read)) = wire.read(&input, &mut out)? {
            input.drain(..length);
            reply = read;
        } else {
            let mut buffer = [0; 4096];
            let received = stream.read(&mut buffer).context("mariadb")?;
            if received == 0 {
                bail!("mariadb closed the connection");
            }
            input.extend_from_slice(&buffer[..received]);
        }
        match reply {
            Some(Reply::Ready) => wire.query(sql, &mut out),
            Some(Reply::Done { .. }) => return Ok(()),
            Some(Reply::Conflict) => bail!("mariadb: a conflict while tables are made"),
            None => {}
        }
        stream.write_all(&out)?;
    }
}
