//! Services and servers in C.
//!
//! A service is a description; a server that was started with it has a copy.

use std::ffi::c_char;
use std::time::Duration;

use super::failing::{guarded, made, status};
use super::options::stadium_method_id;
use super::queue::stadium_queue;
use super::text::{free, object, object_mut, stadium_bytes, text};
use crate::error::Error;
use crate::server::{ServedMethod, Server, Service};
use crate::settings::ServerSettings;

/// A service: a name, a version and methods. One thread at a time may change it.
pub struct stadium_service(Service);
/// A running server.
pub struct stadium_server(Server);

/// A service without methods. Name and version are its place in discovery.
///
/// # Safety
/// `name` and `version` are texts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn stadium_service_new(
    name: *const c_char,
    version: *const c_char,
) -> *mut stadium_service {
    // SAFETY: the caller's promise.
    let (name, version) = unsafe { (text(name, "the name"), text(version, "the version")) };
    made(|| {
        let (name, version) = (name?.to_owned(), version?.to_owned());
        Ok(stadium_service(Service { name, version, descriptors: Vec::new(), methods: Vec::new() }))
    })
}

/// Sets an encoded google.protobuf.FileDescriptorSet, which NAME/describe answers with. It is copied.
///
/// # Safety
/// `service` is a service, and the bytes of `descriptors` are there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn stadium_service_descriptors(
    service: *mut stadium_service,
    descriptors: stadium_bytes,
) -> i32 {
    // SAFETY: the caller's promise.
    let (service, descriptors) =
        unsafe { (object_mut(service, "the service"), descriptors.read("the descriptors")) };
    status(|| {
        service?.0.descriptors = descriptors?.to_vec();
        Ok(())
    })
}

/// Adds a method. Its requests arrive as STADIUM_REQUEST with this tag.
///
/// # Safety
/// `service` is a service, and the route of `method` a text.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn stadium_service_method(
    service: *mut stadium_service,
    method: stadium_method_id,
    tag: u64,
) -> i32 {
    // SAFETY: the caller's promise.
    let (service, method) = unsafe { (object_mut(service, "the service"), method.read()) };
    status(|| {
        let (service, id) = (service?, method?);
        if id.service() != service.0.name {
            let (route, name) = (id.route(), &service.0.name);
            return Err(Error::invalid(format!(
                "the route `{route}` does not belong to the service `{name}`"
            )));
        }
        service.0.methods.push(ServedMethod { id, tag });
        Ok(())
    })
}

/// Frees a service. Servers that were started with it have a copy.
///
/// # Safety
/// `service` is null or a service, and nobody uses it any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn stadium_service_free(service: *mut stadium_service) {
    // SAFETY: the caller's promise.
    unsafe { free(service) };
}

/// Starts a server; null where the settings are wrong, or an address is in use. `settings` is a
/// JSON object. Requests arrive on `queue`.
///
/// # Safety
/// `settings` is a text, `services` points at `count` services, and `queue` is a queue.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn stadium_server_start(
    settings: *const c_char,
    services: *const *const stadium_service,
    count: usize,
    queue: *const stadium_queue,
) -> *mut stadium_server {
    // SAFETY: the caller's promise.
    let (settings, queue) = unsafe { (text(settings, "the settings"), object(queue, "the queue")) };
    made(|| {
        if services.is_null() {
            return Err(Error::invalid("the services are null"));
        }
        let copy = |place| {
            // SAFETY: the caller's promise.
            let service = unsafe { object(*services.add(place), "a service") };
            service.map(|service| service.0.clone())
        };
        let services = (0..count).map(copy).collect::<Result<Vec<_>, Error>>()?;
        let settings = ServerSettings::from_json(settings?)?;
        Server::start(&settings, services, &queue?.0).map(stadium_server)
    })
}

/// The port of the address at this place in the settings: for port 0 the one that was free. A
/// stadium_status where there is no such address.
///
/// # Safety
/// `server` is a server.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn stadium_server_port(server: *const stadium_server, place: usize) -> i32 {
    // SAFETY: the caller's promise.
    let server = unsafe { object(server, "the server") };
    guarded(
        |status| status as i32,
        || {
            let bound = server?.0.bound();
            let address = bound.get(place).ok_or_else(|| {
                Error::invalid(format!("there is no address {place}: the server has {}", bound.len()))
            })?;
            Ok(i32::from(address.port()))
        },
    )
}

/// Takes on nothing new, withdraws from discovery, waits for the work under way, but no longer than
/// `within_ms`, and stops. Somebody must go on taking events meanwhile. Returns the connections
/// that were cut, or a stadium_status; a second call returns 0.
///
/// # Safety
/// `server` is a server.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn stadium_server_shutdown(server: *const stadium_server, within_ms: u64) -> i64 {
    // SAFETY: the caller's promise.
    let server = unsafe { object(server, "the server") };
    guarded(
        |status| status as i64,
        || {
            // Longer than anybody waits, and short enough to be added to a time.
            let within = Duration::from_millis(within_ms.min(86_400_000));
            server?.0.shutdown(within).map(|left| i64::try_from(left).unwrap_or(i64::MAX))
        },
    )
}

/// Frees a server, and stops it at once where it runs.
///
/// # Safety
/// `server` is null or a server, and nobody uses it any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn stadium_server_free(server: *mut stadium_server) {
    // SAFETY: the caller's promise.
    unsafe { free(server) };
}
