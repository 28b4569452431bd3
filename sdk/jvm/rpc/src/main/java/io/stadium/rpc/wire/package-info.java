/** How calls look in RSocket: entries of metadata, and ERROR frames. */
package io.stadium.rpc.wire;
