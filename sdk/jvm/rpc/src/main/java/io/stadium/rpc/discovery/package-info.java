/**
 * Where a client learns which instances a service has: a list, or a registry.
 *
 * <p>{@link io.stadium.rpc.discovery.StaticInstances} is a list of hosts. A backend implements
 * {@link io.stadium.rpc.discovery.InstanceSource}, reads entries by
 * {@link io.stadium.rpc.discovery.Place} and {@link io.stadium.rpc.discovery.InstanceValue}, and
 * keeps a {@link io.stadium.rpc.discovery.Roster} of each service, so that no instance is forgotten
 * because the backend is away.
 */
package io.stadium.rpc.discovery;
