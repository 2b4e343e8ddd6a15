/** Bytes that are compressed for as long as they are held, outside the main thread. */
import { promisify } from 'node:util'
import { constants, zstdCompress, zstdDecompress } from 'node:zlib'

const compress = promisify(zstdCompress)
const decompress = promisify(zstdDecompress)

/**
 * A third of the default's CPU for the same size, where repetitions are near: small tables stay in the
 * processor's cache.
 */
const cheap = {
  chunkSize: 32 * 1024,
  params: {
    [constants.ZSTD_c_compressionLevel]: 1,
    [constants.ZSTD_c_windowLog]: 17,
    [constants.ZSTD_c_hashLog]: 14,
  },
}

/** How packed bytes begin (RFC 8878, 3.1.1). No text begins so. */
const mark = [0x28, 0xb5, 0x2f, 0xfd]

export const isPacked = (bytes: Uint8Array): boolean => mark.every((byte, at) => bytes[at] === byte)

export const pack = (text: Uint8Array): Promise<Uint8Array> => compress(text, cheap)

/** Each part of the text is a turn of the event loop, which costs more than its share of decompressing. */
const inLargeParts = { chunkSize: 256 * 1024 }

/** The text; also of one that was never packed. */
export const unpack = async (bytes: Uint8Array): Promise<Uint8Array> =>
  isPacked(bytes) ? decompress(bytes, inLargeParts) : bytes
