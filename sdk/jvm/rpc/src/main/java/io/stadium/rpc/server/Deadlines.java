package io.stadium.rpc.server;

import java.util.Arrays;

/**
 * Calls under way by their deadlines: a binary heap that knows each call's place in it, so that a
 * call that ends leaves nothing behind.
 */
final class Deadlines {
    private Work[] heap = new Work[16];
    private int size;

    /** The call with the earliest deadline, or {@code null}. */
    Work first() {
        return size == 0 ? null : heap[0];
    }

    void add(Work work) {
        if (size == heap.length) {
            heap = Arrays.copyOf(heap, size * 2);
        }
        up(size++, work);
    }

    void remove(Work work) {
        int at = work.deadlineIndex;
        if (at < 0) {
            return;
        }
        work.deadlineIndex = -1;
        Work last = heap[--size];
        heap[size] = null;
        if (last != work) {
            down(at, last);
            if (heap[at] == last) {
                up(at, last);
            }
        }
    }

    private void up(int from, Work work) {
        int at = from;
        while (at > 0) {
            int parent = (at - 1) / 2;
            if (heap[parent].deadlineNanos - work.deadlineNanos <= 0) {
                break;
            }
            put(at, heap[parent]);
            at = parent;
        }
        put(at, work);
    }

    private void down(int from, Work work) {
        int at = from;
        while (true) {
            int child = at * 2 + 1;
            if (child >= size) {
                break;
            }
            if (child + 1 < size
                    && heap[child + 1].deadlineNanos - heap[child].deadlineNanos < 0) {
                child++;
            }
            if (work.deadlineNanos - heap[child].deadlineNanos <= 0) {
                break;
            }
            put(at, heap[child]);
            at = child;
        }
        put(at, work);
    }

    private void put(int at, Work work) {
        heap[at] = work;
        work.deadlineIndex = at;
    }
}
