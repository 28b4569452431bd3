/* Finds something wrong, so that the tests are known to notice. */
#include "check.h"

int main(void) {
    stadium_queue *queue = stadium_queue_new();
    CHECK(queue == NULL);
    return 0;
}
