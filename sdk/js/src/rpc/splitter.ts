// Cuts the bytes of a TCP connection into frames: a 24-bit length precedes each.

import { joined } from './frame.js'

const LENGTH_BYTES = 3

export class Splitter {
  #chunks: Uint8Array[] = []
  #bytes = 0

  /** Takes bytes, and returns the frames that are complete. */
  push (chunk: Uint8Array): Uint8Array[] {
    this.#chunks.push(chunk)
    this.#bytes += chunk.length
    const frames: Uint8Array[] = []
    // Chunks are joined once for each frame that they complete, so a long frame is copied once.
    while (this.#bytes >= LENGTH_BYTES) {
      if (this.#chunks[0]!.length < LENGTH_BYTES) this.#chunks = [joined(this.#chunks)]
      const head = this.#chunks[0]!
      const end = LENGTH_BYTES + head[0]! * 0x1_0000 + head[1]! * 0x100 + head[2]!
      if (this.#bytes < end) break
      const all = this.#chunks.length === 1 ? head : joined(this.#chunks)
      frames.push(all.subarray(LENGTH_BYTES, end))
      this.#chunks = end === all.length ? [] : [all.subarray(end)]
      this.#bytes -= end
    }
    return frames
  }
}
