// @stadium/client: the HTTP API of a Stadium server.

export { Stadium, App } from './http/client.js'
export { Api, type Answer, type PathsOf, type Request, type Schemas } from './http/api.js'
export type { ClientOptions, Key } from './http/transport.js'
export { Pushes, Schedules } from './http/pushes.js'
export { Devices, Own } from './http/devices.js'
export { Audiences } from './http/audiences.js'
export { Wallets, type Amount, type Hold, type Transfer } from './http/wallets.js'
export { Queues, type PutOptions } from './http/queues.js'
export {
  InvalidReceipt, verifyReceipt, type ProvedTransfer, type Receipt, type ReceiptProof
} from './http/receipt.js'
export { newId } from './http/ids.js'
export type { CallOptions } from './deadline.js'
export * from './errors.js'
