/**
 * The guards of a client as rules without I/O, clock or threads: where calls go, whether they are
 * made again, and what is learnt from their ends. docs/rpc-guards.md specifies them.
 */
package io.stadium.rpc.balance;
