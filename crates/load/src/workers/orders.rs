//! Orders as they travel to a worker, and back into what its loops take.
//!
//! Times are of the worker's own clock when they arrive. The start travels apart, because its
//! answer counts.

use super::offset::Offset;
use super::proto::order_request::Order as Sent;
use super::proto::{Broadcast, Cut, Finish, Stop};
use crate::engine::order::{self, Order};

/// An order for a worker whose clock is so far from ours; `None` for the start.
pub(super) fn write(order: Order, offset: &Offset) -> Option<Sent> {
    Some(match order {
        Order::Start { .. } => return None,
        Order::Finish => Sent::Finish(Finish {}),
        Order::Stop => Sent::Stop(Stop {}),
        Order::Broadcast { stream } => Sent::Broadcast(Broadcast { stream }),
        Order::Cut(order::Cut { number, at_ns, share_ppm, over_ms }) => {
            Sent::Cut(Cut { number, at_ns: offset.there_ns(at_ns), share_ppm, over_ms })
        }
    })
}

/// The order that came; `None` where there is none in it.
pub(super) fn read(order: Option<&Sent>) -> Option<Order> {
    Some(match order? {
        Sent::Finish(Finish {}) => Order::Finish,
        Sent::Stop(Stop {}) => Order::Stop,
        Sent::Broadcast(Broadcast { stream }) => Order::Broadcast { stream: *stream },
        Sent::Cut(Cut { number, at_ns, share_ppm, over_ms }) => Order::Cut(order::Cut {
            number: *number,
            at_ns: *at_ns,
            share_ppm: *share_ppm,
            over_ms: *over_ms,
        }),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_arrive_with_times_of_the_workers_clock() {
        let offset = Offset { ns: -5, error_ns: 1 };
        let cut = |at_ns| Order::Cut(order::Cut { number: 3, at_ns, share_ppm: 500_000, over_ms: 7 });
        let table = [
            (Order::Finish, Order::Finish),
            (Order::Stop, Order::Stop),
            (Order::Broadcast { stream: 9 }, Order::Broadcast { stream: 9 }),
            (cut(1_000), cut(995)),
        ];
        for (order, there) in table {
            assert_eq!(read(write(order, &offset).as_ref()), Some(there));
        }
        assert_eq!(write(Order::Start { epoch_ns: 1 }, &offset), None);
        assert_eq!(read(None), None);
    }
}
