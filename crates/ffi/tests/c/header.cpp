// The header as C++ sees it.
#include "stadium.h"

int main() {
    stadium_queue *queue = stadium_queue_new();
    stadium_event event{};
    const auto taken = stadium_queue_take(queue, &event, 1, 0);
    stadium_queue_free(queue);
    return static_cast<int>(taken);
}
