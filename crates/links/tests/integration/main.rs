//! Links with real sockets: endpoints in one process, in processes of their own, and in network
//! namespaces whose network swallows packets.

mod certificates;
mod fixture;
mod flow;
mod members;
mod network;
mod outcomes;
mod processes;
mod strangers;
