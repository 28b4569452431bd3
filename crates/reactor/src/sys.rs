//! The system calls that the hot paths make, on raw descriptors.
//!
//! mio and socket2 set sockets up; reading, writing and accepting go straight to libc, because each
//! connection is a bare number in the slab. All `unsafe` of this crate that is not about
//! descriptors' ownership lives here, and each block names what it relies on.
#![allow(unsafe_code)]

use std::io;
use std::mem;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};
use std::os::fd::RawFd;

/// Result of a system call that is repeated when a signal interrupts it; errors are error numbers.
pub(crate) type Call<T> = Result<T, i32>;

pub(crate) fn errno() -> i32 {
    io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO)
}

/// Reads what is there into `buffer`. Zero is the end of the stream.
pub(crate) fn recv(fd: RawFd, buffer: &mut [u8]) -> Call<usize> {
    loop {
        // SAFETY: the pointer and the length are those of one live, exclusively borrowed slice.
        let count = unsafe { libc::recv(fd, buffer.as_mut_ptr().cast(), buffer.len(), libc::MSG_DONTWAIT) };
        if count >= 0 {
            return Ok(count as usize);
        }
        match errno() {
            libc::EINTR => {}
            error => return Err(error),
        }
    }
}

/// Writes as much as the kernel takes, without a signal where the peer is gone.
pub(crate) fn send(fd: RawFd, bytes: &[u8]) -> Call<usize> {
    loop {
        // SAFETY: the pointer and the length are those of one live slice.
        let count = unsafe {
            libc::send(fd, bytes.as_ptr().cast(), bytes.len(), libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT)
        };
        if count >= 0 {
            return Ok(count as usize);
        }
        match errno() {
            libc::EINTR => {}
            error => return Err(error),
        }
    }
}

/// One piece of a vectored write.
#[repr(transparent)]
pub(crate) struct Slice(libc::iovec);

impl Slice {
    pub(crate) const EMPTY: Slice = Slice(libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 });

    /// The caller keeps `bytes` alive and unmoved until the write; see [`send_slices`].
    pub(crate) fn new(bytes: &[u8]) -> Slice {
        Slice(libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() })
    }
}

/// Writes at most 1,024 pieces (IOV_MAX) in order, as much as the kernel takes.
///
/// # Safety
/// Every slice that the pieces were made of is still alive and where it was.
pub(crate) unsafe fn send_slices(fd: RawFd, slices: &[Slice]) -> Call<usize> {
    loop {
        // SAFETY: a zeroed msghdr is a valid empty one.
        let mut header: libc::msghdr = unsafe { mem::zeroed() };
        header.msg_iov = slices.as_ptr().cast_mut().cast();
        header.msg_iovlen = slices.len();
        // SAFETY: the caller vouches for the pieces; Slice has iovec's layout; sendmsg does not write to them.
        let count = unsafe { libc::sendmsg(fd, &header, libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT) };
        if count >= 0 {
            return Ok(count as usize);
        }
        match errno() {
            libc::EINTR => {}
            error => return Err(error),
        }
    }
}

/// Takes one connection from a listener, non-blocking and closed on exec.
pub(crate) fn accept(fd: RawFd) -> Call<(RawFd, SocketAddr)> {
    loop {
        // SAFETY: a zeroed sockaddr_storage is a valid one of no family.
        let mut storage: libc::sockaddr_storage = unsafe { mem::zeroed() };
        let mut length = mem::size_of::<libc::sockaddr_storage>() as libc::socklen_t;
        // SAFETY: the storage is as long as `length` states, and both outlive the call.
        let accepted = unsafe {
            libc::accept4(
                fd,
                (&raw mut storage).cast(),
                &mut length,
                libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC,
            )
        };
        if accepted >= 0 {
            return Ok((accepted, address_of(&storage)));
        }
        match errno() {
            libc::EINTR => {}
            error => return Err(error),
        }
    }
}

/// The address of a socket's peer, while it has one.
pub(crate) fn peer_address(fd: RawFd) -> io::Result<SocketAddr> {
    // SAFETY: a zeroed sockaddr_storage is a valid one of no family.
    let mut storage: libc::sockaddr_storage = unsafe { mem::zeroed() };
    let mut length = mem::size_of::<libc::sockaddr_storage>() as libc::socklen_t;
    // SAFETY: the storage is as long as `length` states, and both outlive the call.
    let result = unsafe { libc::getpeername(fd, (&raw mut storage).cast(), &mut length) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(address_of(&storage)) }
}

fn address_of(storage: &libc::sockaddr_storage) -> SocketAddr {
    match i32::from(storage.ss_family) {
        libc::AF_INET6 => {
            // SAFETY: the family states that the kernel wrote a sockaddr_in6, which fits in the storage.
            let address: &libc::sockaddr_in6 = unsafe { &*(&raw const *storage).cast() };
            SocketAddr::V6(SocketAddrV6::new(
                Ipv6Addr::from(address.sin6_addr.s6_addr),
                u16::from_be(address.sin6_port),
                address.sin6_flowinfo,
                address.sin6_scope_id,
            ))
        }
        libc::AF_INET => {
            // SAFETY: as above, for sockaddr_in.
            let address: &libc::sockaddr_in = unsafe { &*(&raw const *storage).cast() };
            SocketAddr::V4(SocketAddrV4::new(
                Ipv4Addr::from(u32::from_be(address.sin_addr.s_addr)),
                u16::from_be(address.sin_port),
            ))
        }
        _ => SocketAddr::V4(SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, 0)),
    }
}

/// Closes a descriptor that the caller owns and forgets.
pub(crate) fn close(fd: RawFd) {
    // SAFETY: a number is all that is passed; the slab owns the descriptor and drops it with this.
    unsafe { libc::close(fd) };
}

/// Announces that nothing more will be written.
pub(crate) fn shutdown_write(fd: RawFd) {
    // SAFETY: only numbers are passed.
    unsafe { libc::shutdown(fd, libc::SHUT_WR) };
}

/// Makes the coming close a reset instead of a goodbye.
pub(crate) fn reset_on_close(fd: RawFd) {
    let linger = libc::linger { l_onoff: 1, l_linger: 0 };
    // SAFETY: the pointer and the length are those of `linger`, which outlives the call.
    unsafe {
        libc::setsockopt(
            fd,
            libc::SOL_SOCKET,
            libc::SO_LINGER,
            (&raw const linger).cast(),
            mem::size_of::<libc::linger>() as libc::socklen_t,
        )
    };
}

/// Has the kernel drop every packet that comes for the socket from now on, FIN and RST included, as if it never
/// arrived: a classic BPF program that accepts no byte (SO_ATTACH_FILTER). Needs no privilege.
pub(crate) fn drop_incoming(fd: RawFd) -> io::Result<()> {
    // BPF_RET | BPF_K: return the constant, the number of bytes to keep.
    let mut nothing = libc::sock_filter { code: 0x06, jt: 0, jf: 0, k: 0 };
    let program = libc::sock_fprog { len: 1, filter: &raw mut nothing };
    // SAFETY: the program points at one live instruction, as its length states, which the kernel copies; the length
    // passed is the program's own.
    let result = unsafe {
        libc::setsockopt(
            fd,
            libc::SOL_SOCKET,
            libc::SO_ATTACH_FILTER,
            (&raw const program).cast(),
            mem::size_of::<libc::sock_fprog>() as libc::socklen_t,
        )
    };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// The error that a socket has met, zero for none; asking clears it.
pub(crate) fn socket_error(fd: RawFd) -> i32 {
    let mut error: libc::c_int = 0;
    let mut length = mem::size_of::<libc::c_int>() as libc::socklen_t;
    // SAFETY: both pointers are of live locals, and the length is the value's.
    let result = unsafe {
        libc::getsockopt(fd, libc::SOL_SOCKET, libc::SO_ERROR, (&raw mut error).cast(), &mut length)
    };
    if result < 0 { errno() } else { error }
}

/// Lets the kernel choose the port of a bound outgoing socket at connect time, so that one local
/// address can hold more connections than it has ports.
pub(crate) fn bind_without_port(fd: RawFd) {
    let on: libc::c_int = 1;
    // SAFETY: the pointer and the length are those of `on`.
    unsafe {
        libc::setsockopt(
            fd,
            libc::IPPROTO_IP,
            libc::IP_BIND_ADDRESS_NO_PORT,
            (&raw const on).cast(),
            mem::size_of::<libc::c_int>() as libc::socklen_t,
        )
    };
}

/// Binds the calling thread to one processor.
pub(crate) fn pin_to(cpu: usize) -> io::Result<()> {
    // SAFETY: a zeroed cpu_set_t is the empty set.
    let mut set: libc::cpu_set_t = unsafe { mem::zeroed() };
    if cpu >= libc::CPU_SETSIZE as usize {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, format!("processor {cpu} does not exist")));
    }
    // SAFETY: the index is below CPU_SETSIZE, checked above.
    unsafe { libc::CPU_SET(cpu, &mut set) };
    // SAFETY: the set outlives the call, and its size is passed; pid 0 is the calling thread.
    let result = unsafe { libc::sched_setaffinity(0, mem::size_of::<libc::cpu_set_t>(), &set) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
