/**
 * What is kept of a receiver's answer: its first KiB, without what could sign in our name or open a door. Receivers that
 * show what they were sent are common, so their answers hold our signatures.
 */

const keptBytes = 1024
/** Patterns look at so much of it; a cut through a secret must not survive at its end. */
const lookedAt = 4096
const mask = '[secret]'

/**
 * @param exact secrets and signatures of this attempt, removed wherever they stand.
 * @param redact removes secrets by their form.
 */
export function toSnippet(
  answer: string,
  exact: readonly string[],
  redact: (text: string) => string,
): Uint8Array | null {
  if (answer === '') return null
  const forms = exact.flatMap((secret) => [secret, encodeURIComponent(secret)])
  const known = forms.reduce((text, form) => text.replaceAll(form, mask), answer)
  return cut(Buffer.from(redact(known.slice(0, lookedAt))))
}

/** Never in the middle of a character. */
function cut(bytes: Buffer): Buffer {
  if (bytes.length <= keptBytes) return bytes
  let end = keptBytes
  while (((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1
  return bytes.subarray(0, end)
}
