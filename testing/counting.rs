//! An allocator that counts, for tests which prove that a warm path allocates nothing.
//!
//! A test includes this file by its path and names the allocator:
//! `#[global_allocator] static ALLOCATOR: Counting = Counting::all_threads_but();`. It counts for every thread, or for those alone
//! that are named; a thread reads its own allocations by [`here`], whether it counts or not.
#![allow(unsafe_code)]
#![allow(dead_code, reason = "no test asks for all of it")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);
static HELD: AtomicI64 = AtomicI64::new(0);

thread_local! {
    // Constant and without destructors: to count allocates nothing.
    static IS_NAMED: Cell<bool> = const { Cell::new(false) };
    static HERE: Cell<u64> = const { Cell::new(0) };
}

/// The system's allocator, counted.
pub struct Counting {
    /// The counts of a named thread.
    counts_named: bool,
}

impl Counting {
    /// Counts what all threads do but those that are [named](name).
    pub const fn all_threads_but() -> Self {
        Counting { counts_named: false }
    }

    /// Counts what the [named](name) threads do.
    pub const fn no_thread_but() -> Self {
        Counting { counts_named: true }
    }

    fn count(&self, allocations: u64, bytes: i64) {
        // A thread that ends has neither any more.
        let _ = HERE.try_with(|here| here.set(here.get() + allocations));
        if IS_NAMED.try_with(Cell::get).is_ok_and(|is_named| is_named == self.counts_named) {
            ALLOCATIONS.fetch_add(allocations, Ordering::Relaxed);
            HELD.fetch_add(bytes, Ordering::Relaxed);
        }
    }
}

/// Names this thread, or names it no more.
pub fn name(is_named: bool) {
    IS_NAMED.set(is_named);
}

/// Allocations of the threads that count.
pub fn allocations() -> u64 {
    ALLOCATIONS.load(Ordering::Relaxed)
}

/// Bytes that those threads allocated and did not free.
pub fn held() -> i64 {
    HELD.load(Ordering::Relaxed)
}

/// Allocations of this thread, whether it counts or not.
pub fn here() -> u64 {
    HERE.get()
}

// SAFETY: every call goes on to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        self.count(1, layout.size() as i64);
        // SAFETY: the caller's promises are handed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        self.count(0, -(layout.size() as i64));
        // SAFETY: the caller's promises are handed on.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        self.count(1, size as i64 - layout.size() as i64);
        // SAFETY: the caller's promises are handed on.
        unsafe { System.realloc(pointer, layout, size) }
    }
}
