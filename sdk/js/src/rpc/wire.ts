// What carries frames: a WebSocket, or a TCP or TLS socket of Node.

/** What a wire reports. `closed` comes once, also if it never opened. */
export interface WireEvents {
  opened (): void
  /** Bytes came, of a frame that may not be complete. */
  heard (): void
  frame (bytes: Uint8Array): void
  closed (error?: Error): void
}

/** A connection that is being opened or is open. */
export interface Wire {
  send (frame: Uint8Array): void
  /** Closes it: `closed` follows. Frames that were sent before leave first, if they still can. */
  close (): void
  /** Bytes that are sent and have not left. */
  readonly buffered: number
  /** Whether an idle connection keeps a process of Node running. */
  hold (keeps: boolean): void
}

/** TLS of `tls:` and, in Node, of `wss:` addresses. */
export interface TlsOptions {
  /** Authorities that are trusted, PEM; those of the system by default. */
  readonly ca?: string
  /** The certificate that this client presents, and its key, PEM. */
  readonly cert?: string
  readonly key?: string
  /** The name in the server's certificate, where it is not the host of the address. */
  readonly servername?: string
}

export type Dial = (url: URL, tls: TlsOptions | undefined, events: WireEvents) => Wire
