// The suites that need running servers, in one process: they share a server that none of them
// stops.

import { after } from 'node:test'

import { stopShared } from './server.js'

after(stopShared)

await import('./suites/http.js')
await import('./suites/receipt.js')
await import('./suites/rpc.js')
await import('./suites/hostile.js')
await import('./suites/device.js')
await import('./suites/browser.js')
await import('./suites/readme.js')
