// @stadium/client/device: a device's connection, over MQTT 5.0 on WebSocket or, in Node, TCP.

export { Device, type DeviceEvents, type DeviceOptions } from './device.js'
export type { PushHandler } from './inbox.js'
export type { Message, Notification, Push } from './message.js'
export type { UserProperties } from './reasons.js'
export type { CallOptions } from '../deadline.js'
export * from '../errors.js'
