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

/** Shorter bytes stay as they came: a compressor's memory costs more than it saves. */
const leastBytes = 512

/** Packs those of the named bytes that are not packed yet, in their place. Returns these as they came. */
export async function packAll(
  all: Map<string, Uint8Array>,
  names: readonly string[] = [...all.keys()],
): Promise<readonly Uint8Array[]> {
  const given = names.map((name) => [name, all.get(name) ?? new Uint8Array()] as const)
  const raw = given.filter(([, bytes]) => bytes.length >= leastBytes && !isPacked(bytes))
  await Promise.all(raw.map(async ([name, bytes]) => all.set(name, await pack(bytes))))
  return raw.map(([, bytes]) => bytes)
}
