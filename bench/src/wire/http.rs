//! HTTP/1.1, client side, as little of it as requests with JSON over a kept connection need: answers have a length.

use anyhow::{Context as _, Result, bail};

/// An answer.
#[derive(Debug, PartialEq)]
pub(crate) struct Answer<'a> {
    pub(crate) status: u16,
    /// Seconds after which it may be asked again, where the answer states it.
    pub(crate) retry_after_s: Option<u64>,
    pub(crate) body: &'a [u8],
}

/// One request. `token` is a bearer's.
pub(crate) fn request(method: &str, path: &str, token: Option<&str>, body: &[u8], out: &mut Vec<u8>) {
    for part in [method, " ", path, " HTTP/1.1\r\nHost: bench\r\n"] {
        out.extend_from_slice(part.as_bytes());
    }
    if let Some(token) = token {
        for part in ["Authorization: Bearer ", token, "\r\n"] {
            out.extend_from_slice(part.as_bytes());
        }
    }
    if !body.is_empty() {
        let head = format!("Content-Type: application/json\r\nContent-Length: {}\r\n", body.len());
        out.extend_from_slice(head.as_bytes());
    }
    out.extend_from_slice(b"\r\n");
    out.extend_from_slice(body);
}

/// The first answer in `bytes` and its length; `None` when there is no whole one yet.
pub(crate) fn parse(bytes: &[u8]) -> Result<Option<(Answer<'_>, usize)>> {
    let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") else { return Ok(None) };
    let mut lines = std::str::from_utf8(&bytes[..end])?.split("\r\n");
    let status = lines.next().and_then(|line| line.strip_prefix("HTTP/1.1 "));
    let status = status.and_then(|line| line.get(..3)).context("no status of HTTP/1.1")?.parse()?;
    let (mut length, mut retry_after_s) = (None, None);
    for line in lines {
        let (name, value) = line.split_once(':').context("a header without a colon")?;
        if name.eq_ignore_ascii_case("content-length") {
            length = Some(value.trim().parse::<usize>()?);
        } else if name.eq_ignore_ascii_case("retry-after") {
            retry_after_s = Some(value.trim().parse()?);
        } else if name.eq_ignore_ascii_case("transfer-encoding") {
            bail!("an answer in chunks");
        }
    }
    let from = end + 4;
    let to = from + length.context("an answer without a length")?;
    Ok(bytes.get(from..to).map(|body| (Answer { status, retry_after_s, body }, to)))
}

#[cfg(test)]
mod tests {
    use super::{Answer, parse, request};

    #[test]
    fn an_answer_is_read_once_it_is_whole() {
        let bytes = b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 2\r\nContent-Length: 2\r\n\r\nhiHTTP";
        let whole = Answer { status: 503, retry_after_s: Some(2), body: b"hi" };
        assert_eq!(parse(bytes).expect("good"), Some((whole, bytes.len() - 4)));
        for cut in 0..bytes.len() - 4 {
            assert_eq!(parse(&bytes[..cut]).expect("good so far"), None);
        }
    }

    #[test]
    fn a_request_states_the_length_of_its_body() {
        let mut out = Vec::new();
        request("POST", "/a", Some("t"), b"{}", &mut out);
        let expected = "POST /a HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer t\r\n\
                        Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}";
        assert_eq!(String::from_utf8_lossy(&out), expected);
    }
}
