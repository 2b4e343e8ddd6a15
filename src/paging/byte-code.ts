/**
 * Encodes numbers and texts as bytes, and decodes them; whole numbers take as few bytes as possible. A reader that
 * runs past the end throws RangeError.
 */

export interface ByteWriter {
  /** A whole number from 0 to 2^53 - 1. */
  count(value: number): void
  /** A whole number of either sign, up to 2^52. */
  whole(value: number): void
  /** Any number, as its 8 exact bytes. */
  number(value: number): void
  /** 32 bits. */
  bits(value: number): void
  text(value: string | null): void
  /** The written bytes; the writer must not be used afterwards. */
  end(): Uint8Array
}

export interface ByteReader {
  count(): number
  whole(): number
  number(): number
  bits(): number
  text(): string | null
  isAtEnd(): boolean
}

const firstCapacity = 4096

export function makeByteWriter(): ByteWriter {
  let buffer = Buffer.allocUnsafeSlow(firstCapacity)
  let length = 0

  function reserve(bytes: number): void {
    if (length + bytes <= buffer.length) return
    const larger = Buffer.allocUnsafeSlow(Math.max(buffer.length * 2, length + bytes))
    buffer.copy(larger, 0, 0, length)
    buffer = larger
  }

  function count(value: number): void {
    reserve(8)
    let rest = value
    while (rest >= 128) {
      buffer[length] = (rest % 128) + 128
      length += 1
      rest = Math.floor(rest / 128)
    }
    buffer[length] = rest
    length += 1
  }

  return {
    count,
    whole: (value) => count(value < 0 ? -2 * value - 1 : 2 * value),
    number(value) {
      reserve(8)
      length = buffer.writeDoubleLE(value, length)
    },
    bits(value) {
      reserve(4)
      length = buffer.writeInt32LE(value, length)
    },
    text(value) {
      if (value === null) {
        count(0)
        return
      }
      const bytes = Buffer.byteLength(value)
      count(bytes + 1)
      reserve(bytes)
      length += buffer.write(value, length)
    },
    end: () => buffer.subarray(0, length),
  }
}

export function makeByteReader(bytes: Uint8Array): ByteReader {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  let at = 0

  function count(): number {
    let value = 0
    for (let factor = 1; ; factor *= 128) {
      const byte = buffer.readUInt8(at)
      at += 1
      value += (byte % 128) * factor
      if (byte < 128) return value
    }
  }

  return {
    count,
    whole() {
      const value = count()
      return value % 2 === 0 ? value / 2 : -(value + 1) / 2
    },
    number() {
      at += 8
      return buffer.readDoubleLE(at - 8)
    },
    bits() {
      at += 4
      return buffer.readInt32LE(at - 4)
    },
    text() {
      const length = count()
      if (length === 0) return null
      if (at + length - 1 > buffer.length) throw new RangeError('a text runs past the end')
      at += length - 1
      return buffer.toString('utf8', at - length + 1, at)
    },
    isAtEnd: () => at === buffer.length,
  }
}
