/**
 * Parses the text form of encryption keys (`ENCRYPTION_KEY` and the generated file): base64 of exactly 32
 * bytes each, several separated by commas, the first of which encrypts. It refuses text that is not the
 * canonical encoding of its bytes.
 */

export const keyBytes = 32
const maxKeys = 16
/** 32 bytes are 43 characters and one `=`; the last character's two spare bits must be zero. */
const keyPattern = /^[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=$/

/** The keys in their order; undefined when one of them is not 32 bytes of base64. */
export function parseEncryptionKeys(text: string): readonly Uint8Array[] | undefined {
  const items = text.split(',').map((item) => item.trim())
  if (items.length > maxKeys || !items.every((item) => keyPattern.test(item))) return undefined
  return items.map((item) => new Uint8Array(Buffer.from(item, 'base64')))
}
