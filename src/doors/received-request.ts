/**
 * A request whose body is taken in as it comes, whoever reads it and when: copied into one buffer, bounded in
 * bytes, in parts and in what surrounds them. Its stream gives the body as one chunk once all of it is there.
 */
import { GatheredBytes } from '#kernel/gathered-bytes.ts'
import { IncomingMessage } from '#kernel/node-http.ts'
import { bodyLimitOf } from './body-limits.ts'
import { passOver } from './unparsed-rest.ts'

/**
 * Parts of one body, chunks or reads of the socket: so many, and one more for each sixteen bytes. Each costs
 * the parser as much as a thousand bytes.
 */
const mostParts = 1000
const bytesPerPart = 16
/**
 * What may arrive for one body, chunk sizes, extensions and trailers included, as a multiple of its limit.
 */
const mostRaw = 2
/** Of all bodies being received. Above this, the one begun first ends with its connection. */
const mostHeld = 32 * 1024 * 1024

/** The bodies of one listener that are being received. */
export class BodiesInFlight {
  #held = 0
  readonly #open = new Set<ReceivedRequest>()

  add(request: ReceivedRequest, bytes: number): void {
    this.#open.add(request)
    this.#held += bytes
    for (const oldest of this.#open) {
      if (this.#held <= mostHeld) return
      this.remove(oldest)
      oldest.socket.destroy()
    }
  }

  /** Complete, refused, or gone. */
  remove(request: ReceivedRequest): void {
    if (this.#open.delete(request)) this.#held -= request.held
  }
}

/** What a request needs of its listener. */
export interface ReceiveOptions {
  readonly bodies: BodiesInFlight
  /** Called for each part of a body. */
  countPart(): void
  /** Throws away the rest of a request's body; the connection ends with the answer to it. */
  cutOff(request: ReceivedRequest): void
}

export class ReceivedRequest extends IncomingMessage {
  /** More came than is accepted, and the rest is thrown away; the event of this name tells who waits. */
  isTooLarge = false
  /** Null before the first part. */
  #body: GatheredBytes | null = null
  #parts = 0
  #bytes = 0
  /** What the connection had brought when the body was looked at first. */
  #bytesBefore = 0

  /** Memory of its body. */
  get held(): number {
    return this.#body?.held ?? 0
  }

  /** Called by the parser: a part of the body, or its end. */
  override push(part: Uint8Array | null): boolean {
    if (part !== null) {
      this.#take(part)
      // Not the stream but these bounds hold the sender back.
      return true
    }
    if (this.#body !== null && !this.isTooLarge) {
      this.receiver.bodies.remove(this)
      super.push(this.#body.take())
    }
    return super.push(null)
  }

  /**
   * To be called now and then, for what brings no part of a body: endless chunk sizes, extensions, trailers.
   */
  check(): void {
    if (!this.complete && this.isEndless) this.refuse()
  }

  /** Whether more has come for it than any body needs. */
  private get isEndless(): boolean {
    this.#bytesBefore ||= this.socket.bytesRead
    return this.socket.bytesRead - this.#bytesBefore > mostRaw * bodyLimitOf(this.url ?? '/')
  }

  /** Nothing of it is kept. */
  private refuse(): void {
    if (this.isTooLarge) return
    this.receiver.bodies.remove(this)
    this.#body = null
    this.isTooLarge = true
    this.emit('too_large')
    this.receiver.cutOff(this)
  }

  /** Its listener, which makes a subclass that says so. */
  protected get receiver(): ReceiveOptions {
    throw new Error('a request without a listener')
  }

  #take(part: Uint8Array): void {
    this.receiver.countPart()
    if (this.isTooLarge) return void passOver(this.socket)
    this.#body ??= new GatheredBytes(bodyLimitOf(this.url ?? '/'))
    const { held } = this.#body
    this.#parts += 1
    this.#bytes += part.length
    const isSplit = this.#parts > mostParts + this.#bytes / bytesPerPart
    const isTooMuch = isSplit || this.isEndless || !this.#body.add(part)
    if (isTooMuch) this.refuse()
    else if (this.#body.held > held) this.receiver.bodies.add(this, this.#body.held - held)
  }
}
