//! Clients, calls and streams in C.
//!
//! Objects are boxes that C holds by pointers; freeing one drops the box.

use std::ffi::{CString, c_char};

use super::failing::{guarded, made, status};
use super::options::{options, stadium_method_id, stadium_options};
use super::queue::stadium_queue;
use super::text::{free, object, stadium_bytes, text};
use crate::calls::{Call, Client, Method};
use crate::error::Error;
use crate::fork::OfProcess;
use crate::settings::ClientSettings;
use crate::streams::Stream;

/// A client with a thread of its own.
pub struct stadium_client(Client);
/// A method of a client's service.
pub struct stadium_method(Method);
/// A unary call that may be cancelled.
pub struct stadium_call_handle(Option<OfProcess<Call>>);
/// A stream or a channel of a client.
pub struct stadium_stream(OfProcess<Stream>);

/// Starts a client; null where the settings are wrong or the system refuses a thread. `settings` is
/// a JSON object. Calls end on `queue`, which may be that of other clients and servers too.
///
/// # Safety
/// `settings` is a text, `queue` a queue.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn stadium_client_start(
    settings: *const c_char,
    queue: *const stadium_queue,
) -> *mut stadium_client {
    // SAFETY: the caller's promise.
    let (settings, queue) = unsafe { (text(settings, "the settings"), object(queue, "the queue")) };
    made(|| Ok(stadium_client(Client::start(&ClientSettings::from_json(settings?)?, queue?.0.clone())?)))
}

/// Frees a client. Calls that are under way end as broken or cancelled when its methods are freed too.
///
/// # Safety
/// `client` is null or a client, and nobody uses it any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn stadium_client_free(client: *mut stadium_client) {
    // SAFETY: the caller's promise.
    unsafe { free(client) };
}

/// A method that the client calls; keep it for all of its calls. Null where the route is not
/// SERVICE/METHOD. The first method of a service has the service's instances looked up and
/// connected to.
///
/// # Safety
/// `client` is a client, and the route of `method` a text.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn stadium_client_method(
    client: *const stadium_client,
    method: stadium_method_id,
) -> *mut stadium_method {
    // SAFETY: the caller's promise.
    let (client, method) = unsafe { (object(client, "the client"), method.read()) };
    made(|| client?.0.method(method?).map(stadium_method))
}

/// Frees a method.
///
/// # Safety
/// `method` is null or a method, and nobody uses it any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn stadium_method_free(method: *mut stadium_method) {
    // SAFETY: the caller's promise.
    unsafe { free(method) };
}

/// Begins a call; the request is copied. A unary call ends by one STADIUM_ANSWER with the tag of
/// the options. A one-way call has no event. Where `handle` is not null it is set to a handle that
/// can cancel the call, and is to be freed; to null for a one-way call. Returns a stadium_status.
///
/// # Safety
/// `method` is a method, the bytes of `request` and `options` are there, and `handle` is null or
/// points at a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn stadium_call(
    method: *const stadium_method,
    request: stadium_bytes,
    call_options: *const stadium_options,
    handle: *mut *mut stadium_call_handle,
) -> i32 {
    // SAFETY: the caller's promise.
    let (method, request, options) =
        unsafe { (object(method, "the method"), request.read("the request"), options(call_options)) };
    status(|| {
        let call = method?.0.call(request?.to_vec(), &options?.0)?;
        if !handle.is_null() {
            let call = call.map_or(std::ptr::null_mut(), |call| {
                Box::into_raw(Box::new(stadium_call_handle(Some(OfProcess::new(call)))))
            });
            // SAFETY: not null; the rest is the caller's promise.
            unsafe { handle.write(call) };
        }
        Ok(())
    })
}

/// Gives a call up. It ends by STADIUM_ANSWER with STADIUM_CANCELLED, unless it has ended. The
/// handle stays to be freed. One thread at a time may use a handle.
///
/// # Safety
/// `handle` is a handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn stadium_call_cancel(handle: *mut stadium_call_handle) -> i32 {
    // SAFETY: the caller's promise.
    let handle = unsafe { super::text::object_mut(handle, "the handle") };
    status(|| {
        let handle = handle?;
        if let Some(call) = &handle.0 {
            call.here()?;
        }
        if let Some(call) = handle.0.take() {
            call.into_inner().cancel();
        }
        Ok(())
    })
}

/// Frees the handle of a call, which goes on.
///
/// # Safety
/// `handle` is null or a handle, and nobody uses it any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn stadium_call_handle_free(handle: *mut stadium_call_handle) {
    // SAFETY: the caller's promise.
    unsafe { free(handle) };
}

/// Opens a stream or a channel with its first request; null where that is not possible. Messages
/// arrive as STADIUM_ITEM with the tag of the options, as many as their credit until
/// stadium_stream_want asks for more; STADIUM_END is last.
///
/// # Safety
/// As for stadium_call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn stadium_open(
    method: *const stadium_method,
    request: stadium_bytes,
    call_options: *const stadium_options,
) -> *mut stadium_stream {
    // SAFETY: the caller's promise.
    let (method, request, options) =
        unsafe { (object(method, "the method"), request.read("the request"), options(call_options)) };
    made(|| {
        let (options, credit) = options?;
        let stream = method?.0.open(request?.to_vec(), credit, &options)?;
        Ok(stadium_stream(OfProcess::new(stream)))
    })
}

/// Takes `count` more messages. Call it as messages are read, so that a slow reader slows its
/// service down.
///
/// # Safety
/// `stream` is a stream.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn stadium_stream_want(stream: *const stadium_stream, count: u32) -> i32 {
    // SAFETY: the caller's promise.
    let stream = unsafe { object(stream, "the stream") };
    status(|| {
        stream?.0.here()?.want(count);
        Ok(())
    })
}

/// Sends a message of a channel, which is copied. STADIUM_FULL: the service has not taken the last
/// 1,024 messages; this one was not taken, and STADIUM_WRITABLE follows. STADIUM_ENDED: the service
/// takes no more.
///
/// # Safety
/// `stream` is a stream, and the bytes of `message` are there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn stadium_stream_send(stream: *const stadium_stream, message: stadium_bytes) -> i32 {
    // SAFETY: the caller's promise.
    let (stream, message) = unsafe { (object(stream, "the stream"), message.read("the message")) };
    status(|| stream?.0.here()?.send(message?.to_vec()))
}

/// Ends the caller's side of a channel.
///
/// # Safety
/// `stream` is a stream.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn stadium_stream_complete(stream: *const stadium_stream) -> i32 {
    // SAFETY: the caller's promise.
    let stream = unsafe { object(stream, "the stream") };
    status(|| {
        stream?.0.here()?.complete();
        Ok(())
    })
}

/// Gives a stream up. It ends by STADIUM_END with STADIUM_CANCELLED, unless it has ended.
///
/// # Safety
/// `stream` is a stream.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn stadium_stream_cancel(stream: *const stadium_stream) -> i32 {
    // SAFETY: the caller's promise.
    let stream = unsafe { object(stream, "the stream") };
    status(|| {
        stream?.0.here()?.cancel();
        Ok(())
    })
}

/// Frees a stream. One that has not ended is given up, and has no more events than those that wait.
///
/// # Safety
/// `stream` is null or a stream, and nobody uses it any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn stadium_stream_free(stream: *mut stadium_stream) {
    // SAFETY: the caller's promise.
    unsafe { free(stream) };
}

/// The instances that are known of a method's service, and the one that a call with this key would
/// go to and why, as text for people. Null where the client does not answer; otherwise to be freed
/// by stadium_text_free.
///
/// # Safety
/// `method` is a method, and the bytes of `key` are there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn stadium_explain(method: *const stadium_method, key: stadium_bytes) -> *mut c_char {
    // SAFETY: the caller's promise.
    let (method, key) = unsafe { (object(method, "the method"), key.read_optional("the key")) };
    guarded(
        |_| std::ptr::null_mut(),
        || {
            let text = method?.0.explain(key?)?.replace('\0', " ");
            CString::new(text).map(CString::into_raw).map_err(|_| Error::Ended)
        },
    )
}

/// Frees a text of this library.
///
/// # Safety
/// `text` is null, or comes from stadium_explain and was not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn stadium_text_free(text: *mut c_char) {
    if !text.is_null() {
        // SAFETY: the caller's promise.
        drop(unsafe { CString::from_raw(text) });
    }
}
