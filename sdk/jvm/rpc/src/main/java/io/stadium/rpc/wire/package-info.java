/** How calls look in RSocket: entries of metadata, error codes and their texts. */
package io.stadium.rpc.wire;
