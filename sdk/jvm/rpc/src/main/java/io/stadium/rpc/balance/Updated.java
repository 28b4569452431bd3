package io.stadium.rpc.balance;

/**
 * The changes of an update.
 *
 * @param added instances that were not known before
 * @param removed instances that are not named any more
 * @param leftOut instances for which the table has no room
 */
public record Updated(int added, int removed, int leftOut) {}
