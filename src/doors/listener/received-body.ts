/**
 * The body of a request, taken in as it comes, whoever reads it and when: copied into one buffer, bounded in
 * bytes, in parts and in what surrounds them. The stream of the request carries none of it.
 */
import type { IncomingMessage } from 'node:http'
import { GatheredBytes } from '#kernel/gathered-bytes.ts'
import { ClientDisconnected } from '../client.ts'
import { bodyLimitOf } from './body-limits.ts'
import { passOver } from './unparsed-rest.ts'

/**
 * Parts of one body: this many, and one more for each 64 bytes. Each costs as much as a thousand bytes. A
 * client that writes its JSON token by token may send two kilobytes of it.
 */
const mostParts = 256
const bytesPerPart = 64
/**
 * What may arrive for one body, chunk sizes, extensions and trailers included, as a multiple of its limit.
 */
const mostRaw = 2
/**
 * A request with its response, and a field of its head beside the text. A body from which nothing came yet
 * keeps them as long as one of which most is there.
 */
const [bytesPerRequest, bytesPerField] = [4096, 100]
/**
 * The bound of all bodies being received, with their heads. Above this, the one begun first ends with its
 * connection.
 */
const mostHeld = 32 * 1024 * 1024

/** The bodies of one listener that are being received. */
export class BodiesInFlight {
  #held = 0
  /** In the order in which they were begun, with what was counted of each. */
  readonly #open = new Map<ReceivedBody, number>()

  /** To be called when it was begun, and when it holds more than before. */
  count(body: ReceivedBody): void {
    const { held } = body
    this.#held += held - (this.#open.get(body) ?? 0)
    this.#open.set(body, held)
    for (const oldest of this.#open.keys()) {
      if (this.#held <= mostHeld) return
      this.remove(oldest)
      oldest.request.socket.destroy()
    }
  }

  /** Complete, refused, or gone. */
  remove(body: ReceivedBody): void {
    this.#held -= this.#open.get(body) ?? 0
    this.#open.delete(body)
  }
}

/** What a body needs of its listener. */
export interface ReceiveOptions {
  readonly bodies: BodiesInFlight
  /** Called for each part of a body. */
  countPart(): void
  /** Throws away the rest of a request's body; the connection ends with the answer to it. */
  cutOff(request: IncomingMessage): void
}

/** The bytes, or why there are none. */
export type Body = Uint8Array | 'too_large' | ClientDisconnected

/** The bodies that nobody has taken yet. */
const received = new WeakMap<IncomingMessage, Promise<Body>>()

/** Hands a body over, which is then not kept here; null: no listener receives it. */
export function takeBody(request: IncomingMessage): Promise<Body> | null {
  const body = received.get(request)
  if (body === undefined) return null
  received.delete(request)
  // Without it the stream of the request would not end.
  request.resume()
  return body
}

/** RFC 9112 §6.3: a request without these headers has no body. */
export function hasBody({ headers }: IncomingMessage): boolean {
  return headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined
}

export class ReceivedBody {
  readonly request: IncomingMessage
  readonly #receiver: ReceiveOptions
  readonly #pushOn: IncomingMessage['push']
  /** Memory of the request without its body. */
  readonly #headBytes: number
  /** Null once the outcome is known: it would keep the bytes. */
  #resolve: ((body: Body) => void) | null
  /** Null before the first part, and once it is handed on. */
  #body: GatheredBytes | null = null
  #parts = 0
  #bytes = 0
  /** What the connection had brought when the body was looked at first. */
  #bytesBefore = 0

  /** To be made before the parser goes on to the body. */
  constructor(request: IncomingMessage, receiver: ReceiveOptions) {
    this.request = request
    this.#receiver = receiver
    this.#pushOn = request.push
    // The parser calls it with each part of the body, and with null at its end. Not a method of a class of
    // requests: most have no body, and making each of them would take longer.
    request.push = (part: Uint8Array | null) => this.#push(part)
    const { promise, resolve } = Promise.withResolvers<Body>()
    received.set(request, promise)
    this.#resolve = resolve
    this.#headBytes = sizeOfHead(request)
    receiver.bodies.count(this)
  }

  /** Memory of the body and of the request that it belongs to. */
  get held(): number {
    return this.#headBytes + (this.#body?.held ?? 0)
  }

  #push(part: Uint8Array | null): boolean {
    if (part !== null) {
      this.#take(part)
      // Not the stream but these bounds hold the sender back.
      return true
    }
    // After the socket was destroyed parts are thrown away (`#take`), so that the body may not be whole.
    if (!this.request.socket.destroyed) this.#settle(this.#body?.take() ?? new Uint8Array())
    return this.#pushOn.call(this.request, null)
  }

  /** The first outcome counts. Nothing of the body is kept. */
  #settle(outcome: Body): void {
    this.#receiver.bodies.remove(this)
    this.#body = null
    this.#resolve?.(outcome)
    this.#resolve = null
  }

  /** The connection has closed. */
  leave(): void {
    if (this.#resolve === null) return
    this.#settle(new ClientDisconnected('the client disconnected during its request'))
  }

  /**
   * To be called now and then, for what brings no part of a body: endless chunk sizes, extensions, trailers.
   */
  check(): void {
    if (!this.request.complete && this.#isEndless()) this.#refuse()
  }

  /** Whether more has come for it than any body needs. */
  #isEndless(): boolean {
    const { socket, url = '/' } = this.request
    this.#bytesBefore ||= socket.bytesRead
    return socket.bytesRead - this.#bytesBefore > mostRaw * bodyLimitOf(url)
  }

  #refuse(): void {
    if (this.#resolve === null) return
    this.#settle('too_large')
    this.#receiver.cutOff(this.request)
  }

  #take(part: Uint8Array): void {
    const { socket, url = '/' } = this.request
    const { bodies, countPart } = this.#receiver
    countPart()
    // It was the one begun first. The parser goes on to the end of what was read.
    if (socket.destroyed) return
    // It was refused.
    if (this.#resolve === null) return void passOver(socket)
    this.#body ??= new GatheredBytes(bodyLimitOf(url))
    const { held } = this.#body
    this.#parts += 1
    this.#bytes += part.length
    const isSplit = this.#parts > mostParts + this.#bytes / bytesPerPart
    const isTooMuch = isSplit || this.#isEndless() || !this.#body.add(part)
    if (isTooMuch) this.#refuse()
    else if (this.#body.held > held) bodies.count(this)
  }
}

function sizeOfHead({ rawHeaders, url = '' }: IncomingMessage): number {
  let bytes = bytesPerRequest + url.length
  for (const text of rawHeaders) bytes += text.length + bytesPerField / 2
  return bytes
}
