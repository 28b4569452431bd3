"""Messages of the services `queue`, `wallet` and `push`, generated from `proto/stadium/v1`."""
