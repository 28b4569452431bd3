// Browsers have no TCP.

import type { Dial } from './wire.js'

/** Whether this runtime has TCP. */
export const hasTcp: boolean = false

export const dialTcp: Dial = () => {
  throw new TypeError('a browser has no TCP')
}
