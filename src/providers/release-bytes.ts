/**
 * Frees memory at once. Pages are megabytes in size, and bytes that wait for the garbage collector make it run often,
 * which costs a large read more than parsing.
 */

/**
 * Detaches the bytes, which are empty afterwards. Call it only as the owner of bytes that no other code uses. A view
 * on a part of a larger buffer is not changed.
 */
export function releaseBytes(bytes: ArrayBufferView): void {
  const { buffer } = bytes
  if (buffer instanceof ArrayBuffer && buffer.byteLength === bytes.byteLength) buffer.transfer(0)
}
