// @stadium/client/rpc: calls of services over RSocket.

export { RpcClient, type Bearer, type RpcCallOptions, type RpcOptions } from './client.js'
export {
  channel, oneWay, stream, unary,
  type Channel, type Interaction, type Method, type MethodOptions, type OneWay, type Stream,
  type Unary
} from './method.js'
export type { TlsOptions } from './wire.js'
export type { CallOptions } from '../deadline.js'
export * from '../errors.js'
