// One MQTT 5.0 connection of a device, on MQTT.js, which is told not to reconnect by itself.
//
// A push is acknowledged by the inbox, later than MQTT.js would do it: a PUBLISH of QoS 1 is shown
// to MQTT.js as one of QoS 0, and its PUBACK is written here.

import mqtt from 'mqtt'
import type { IClientOptions, IConnackPacket, IPublishPacket, MqttClient } from 'mqtt'

import { Forbidden, StadiumError, Unavailable, Unknown, Rejected } from '../errors.js'
import type { Delivery } from './inbox.js'
import type { Received } from './message.js'
import {
  Reason, mqttCode, refusedConnect, refusedPublish, returnsAfter, userProperty,
  type UserProperties
} from './reasons.js'

/** How a connection is opened. */
export interface SessionOptions {
  readonly url: URL
  readonly clientId: string
  readonly username: string
  readonly password: string | undefined
  readonly keepAliveS: number
  readonly sessionExpiryS: number
  readonly receiveMaximum: number
  readonly connectTimeout: number
  readonly tls: object | undefined
  /** Filters, each with QoS 1; the first is the inbox. */
  readonly filters: readonly string[]
}

/** How a connection ended, and what the server said about the return. */
export interface Ending {
  readonly error: StadiumError
  /** Milliseconds after which the server wants the device back; undefined where it named none. */
  readonly after: number | undefined
  /** The server to go to. */
  readonly reference: string | undefined
}

/** What a connection reports. */
export interface SessionEvents {
  /** Connected and subscribed. */
  online (sessionPresent: boolean): void
  push (delivery: Delivery): void
  message (received: Received): void
  /** An answer: a message with Correlation Data and a status. */
  answer (correlation: string, received: Received): void
  /** Comes once, also if it never connected. */
  ended (ending: Ending): void
}

/** Properties of a message that is sent. */
export interface Sending {
  readonly qos: 0 | 1
  readonly responseTopic?: string
  readonly correlation?: string
  readonly expiryS?: number
}

const PUBACK = 0x40

export class Session {
  readonly #client: MqttClient
  readonly #options: SessionOptions
  readonly #events: SessionEvents
  readonly #unacknowledged = new Set<(error: StadiumError) => void>()
  #refusal: StadiumError | undefined
  #after: number | undefined
  #reference: string | undefined
  #failure: Error | undefined
  #over = false

  constructor (options: SessionOptions, events: SessionEvents) {
    this.#options = options
    this.#events = events
    const client = mqtt.connect(options.url.href, this.#mqttOptions())
    this.#client = client
    client.on('packetreceive', (packet) => {
      if (packet.cmd === 'connack') this.#connack(packet)
      if (packet.cmd === 'publish') this.#publish(packet)
    })
    client.on('connect', ({ sessionPresent }) => { void this.#subscribe(sessionPresent) })
    client.on('message', (topic, _payload, packet) => { this.#message(topic, packet) })
    client.on('disconnect', ({ reasonCode, properties }) => {
      const reason = reasonCode ?? 0
      this.#reference = properties?.serverReference
      this.#refusal ??= sentAway(reason, properties?.reasonString)
    })
    client.on('error', (error) => { this.#failure ??= error })
    client.on('close', () => { this.#end() })
  }

  /** Sends a message; at QoS 1 it resolves when the server has acknowledged it. */
  async send (topic: string, payload: string | Uint8Array, sending: Sending): Promise<void> {
    const properties = {
      ...(sending.responseTopic === undefined ? {} : { responseTopic: sending.responseTopic }),
      ...(sending.correlation === undefined ? {}
        : { correlationData: sending.correlation as unknown as Buffer }),
      ...(sending.expiryS === undefined ? {} : { messageExpiryInterval: sending.expiryS })
    }
    await new Promise<void>((resolve, reject) => {
      if (this.#over) {
        reject(new Unavailable('the device is not connected'))
        return
      }
      const fail = (error: StadiumError): void => {
        this.#unacknowledged.delete(fail)
        reject(error)
      }
      this.#unacknowledged.add(fail)
      const options = { qos: sending.qos, properties }
      this.#client.publish(topic, payload as Buffer, options, (error, packet) => {
        this.#unacknowledged.delete(fail)
        const reason = (error as { code?: unknown } | null)?.code
        if (typeof reason === 'number') {
          const words = (packet as { properties?: Words } | undefined)?.properties
          reject(refusedPublish(reason, topic, words?.reasonString, words?.userProperties))
        } else if (error) {
          reject(new Unknown(`the connection ended: ${error.message}`, { cause: error }))
        } else {
          resolve()
        }
      })
    })
  }

  /** Says goodbye where it can, and ends. */
  async close (): Promise<void> {
    await this.#client.endAsync(!this.#client.connected).catch(() => {})
    this.#end()
  }

  /** Destroys the socket, as a dying network does. For tests. */
  cut (): void {
    this.#client.stream.destroy()
  }

  #mqttOptions (): IClientOptions {
    const { clientId, username, password, keepAliveS, connectTimeout } = this.#options
    return {
      ...this.#options.tls,
      protocolVersion: 5,
      clientId,
      username,
      ...(password === undefined ? {} : { password }),
      clean: false,
      keepalive: keepAliveS,
      connectTimeout,
      reconnectPeriod: 0,
      resubscribe: false,
      queueQoSZero: false,
      properties: {
        sessionExpiryInterval: this.#options.sessionExpiryS,
        receiveMaximum: this.#options.receiveMaximum
      }
    }
  }

  #connack ({ reasonCode = 0, properties }: IConnackPacket): void {
    if (reasonCode === 0) return
    const words = properties?.userProperties as UserProperties | undefined
    this.#refusal = refusedConnect(reasonCode, properties?.reasonString, words)
    this.#after = returnsAfter(words)
    this.#reference = properties?.serverReference
  }

  async #subscribe (sessionPresent: boolean): Promise<void> {
    const { filters } = this.#options
    try {
      const options = { qos: 1 as const }
      const granted = await this.#client.subscribeAsync([...filters], options)
      const denied = granted.find(({ qos }) => qos >= 0x80)
      if (denied !== undefined) throw new Error(`${denied.topic} was refused`)
      if (!this.#over) this.#events.online(sessionPresent)
    } catch (error) {
      if (this.#over || !this.#client.connected) return
      const reason = `the device may not read its topics: ${(error as Error).message}`
      this.#refusal = new Forbidden(reason, { cause: error })
      await this.close()
    }
  }

  #publish (packet: IPublishPacket): void {
    if (packet.qos !== 1 || packet.messageId === undefined) return
    const { messageId } = packet
    const { stream } = this.#client
    if (packet.topic !== this.#options.filters[0] || isAnswer(packet)) return
    packet.qos = 0
    this.#events.push({
      ...receivedOf(packet.topic, packet),
      acknowledge: () => {
        if (this.#over || !this.#client.connected || stream.destroyed) return false
        stream.write(Uint8Array.of(PUBACK, 2, messageId >> 8, messageId & 0xff))
        return true
      }
    })
  }

  #message (topic: string, packet: IPublishPacket): void {
    const received = receivedOf(topic, packet)
    if (isAnswer(packet)) {
      this.#events.answer(String(packet.properties?.correlationData), received)
    } else if (topic !== this.#options.filters[0]) {
      this.#events.message(received)
    } else if (packet.messageId === undefined) {
      // Of QoS 0: nobody acknowledges it. Those of QoS 1 have gone to the inbox.
      this.#events.push({ ...received, acknowledge: () => true })
    }
  }

  #end (): void {
    if (this.#over) return
    this.#over = true
    const failure = this.#failure
    const why = failure === undefined ? '' : `: ${failure.message}`
    const error = this.#refusal ??
      new Unavailable(`the connection ended${why}`, { cause: failure })
    for (const fail of [...this.#unacknowledged]) {
      fail(new Unknown('the connection ended before the acknowledgement', { cause: error }))
    }
    this.#client.end(true)
    this.#events.ended({ error, after: this.#after, reference: this.#reference })
  }
}

function isAnswer ({ properties }: IPublishPacket): boolean {
  const words = properties?.userProperties as UserProperties | undefined
  return properties?.correlationData !== undefined && userProperty(words, 'status') !== undefined
}

interface Words {
  readonly reasonString?: string
  readonly userProperties?: UserProperties
}

function sentAway (reason: number, text: string | undefined): StadiumError {
  const said = text ?? `the server ended the connection with ${mqttCode(reason)}`
  const code = mqttCode(reason)
  return reason === Reason.TakenOver
    ? new Rejected('another connection has taken over this device', { code })
    : new Unavailable(said, { code })
}

function receivedOf (topic: string, packet: IPublishPacket): Received {
  const payload = packet.payload
  return {
    topic,
    payload: typeof payload === 'string' ? new TextEncoder().encode(payload) : payload,
    contentType: packet.properties?.contentType,
    userProperties: (packet.properties?.userProperties ?? {}) as UserProperties
  }
}
