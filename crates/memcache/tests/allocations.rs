//! A warm get into the caller's buffer allocates nothing on the thread that waits, which does all of
//! the work; neither does a warm set.

#[path = "../../../testing/counting.rs"]
mod counting;

#[path = "integration/memcached.rs"]
#[expect(dead_code, reason = "the other suite uses all of it")]
mod memcached;

use counting::Counting;
use stadium_memcache::Expiry;

#[global_allocator]
static ALLOCATOR: Counting = Counting::no_thread_but();

#[test]
fn warm_operations_allocate_nothing() {
    let server = memcached::Memcached::unix(&[]);
    let client = server.client();
    let value = [7; 100];
    let mut buffer = Vec::new();
    let mut round = |sets| {
        (0..sets).for_each(|_| client.set("key", value, Expiry::Never).unwrap().ignore());
        assert_eq!(client.get_into("key", &mut buffer), Ok(Some(0)));
        assert_eq!(client.get_into("missing", &mut buffer), Ok(None));
    };
    // Bursts: every buffer has been as full as it gets.
    (0..50).for_each(|_| round(200));
    let before = counting::here();
    (0..2_000).for_each(|_| round(1));
    assert_eq!(counting::here() - before, 0);
}
