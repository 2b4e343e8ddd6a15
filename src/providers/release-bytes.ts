/**
 * Gives memory back at once. Pages come in megabytes, and memory that waits for the collector makes it come often: that
 * costs a large read more than parsing what it reads.
 */

/**
 * Empties the bytes; who reads them afterwards finds none. Only for the owner of bytes that nobody else can be looking
 * at; those that are a part of something larger are left alone.
 */
export function releaseBytes(bytes: ArrayBufferView): void {
  const { buffer } = bytes
  if (buffer instanceof ArrayBuffer && buffer.byteLength === bytes.byteLength) buffer.transfer(0)
}
