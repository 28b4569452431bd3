/**
 * The decisions of a server about what it takes on: limit, queue, leases, load. Nothing here reads
 * a clock, starts a thread or does I/O; times are microseconds of one monotonic clock.
 */
package io.stadium.rpc.admission;
