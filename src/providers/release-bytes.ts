/**
 * Frees memory at once. Pages are megabytes in size, and bytes that wait for the garbage collector make it
 * run often, which costs a large read more than parsing.
 */

/**
 * Detaches what one read of a socket has brought: all of it when the bytes are more than half, since the rest
 * are then headers or room that was not filled. A buffer that Node shares out (`Buffer.poolSize`) is given in
 * smaller parts only.
 */
export function releaseBytes(chunk: Uint8Array): void {
  const { buffer } = chunk
  if (buffer instanceof ArrayBuffer && chunk.byteLength > buffer.byteLength / 2) buffer.transfer(0)
}
