//! Compiles Stadium's contracts of queues and wallets: this program is a client of both.

fn main() -> Result<(), stadium_rpc_build::Error> {
    let files = ["../../proto/stadium/v1/queue.proto", "../../proto/stadium/v1/wallet.proto"];
    stadium_rpc_build::compile(&files, &["../../proto"])
}
