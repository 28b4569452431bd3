/**
 * What all registries share: lists that outlive their backend, and entries that are kept
 * registered. The modules for etcd and ZooKeeper add {@link
 * io.stadium.rpc.registry.RegistrySession}s.
 */
package io.stadium.rpc.registry;
