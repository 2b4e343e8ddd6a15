/**
 * Bytes that come in parts, copied into one buffer as they come: a part of one byte is an object of a
 * hundred, and a sender chooses how many there are.
 */

const leastBytes = 1024

export class GatheredBytes {
  readonly #most: number
  #bytes = new Uint8Array()
  #size = 0

  /** Takes at most this many bytes in all. */
  constructor(most: number) {
    this.#most = most
  }

  /** The memory that is held, in bytes: at most twice what was added. */
  get held(): number {
    return this.#bytes.length
  }

  /** False, and nothing is added, where it would exceed the bound. */
  add(part: Uint8Array): boolean {
    const size = this.#size + part.length
    if (size > this.#most) return false
    if (size > this.#bytes.length) {
      const room = Math.min(this.#most, Math.max(size, 2 * this.#bytes.length, leastBytes))
      this.#bytes = resize(this.#bytes, room)
    }
    this.#bytes.set(part, this.#size)
    this.#size = size
    return true
  }

  /** Hands over what was added, and is empty again. */
  take(): Buffer {
    const bytes = resize(this.#bytes, this.#size)
    this.#bytes = new Uint8Array()
    this.#size = 0
    return Buffer.from(bytes.buffer)
  }
}

/** Frees the old memory at once, instead of leaving it to the garbage collector. */
function resize({ buffer }: Uint8Array<ArrayBuffer>, size: number): Uint8Array<ArrayBuffer> {
  return new Uint8Array(buffer.transfer(size))
}
