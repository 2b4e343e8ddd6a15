/**
 * Finds where a text contains known secrets: as they are, escaped for JSON or for a URL, in base64 or in
 * hexadecimal. Encodings inside each other are not undone: what is kept is sealed and shown to the secret's
 * owner alone.
 */

/** Half-open range [start, end). */
export type Range = readonly [start: number, end: number]

/** Shorter secrets may stand in a text by chance. */
const leastLength = 12

/** Where `text` shows one of `secrets` (`whsec_…` or `v1,…`): in no order, and they may overlap. */
export function findShown(text: string, secrets: readonly string[]): readonly Range[] {
  return secrets.flatMap((secret) => {
    const base64 = secret.replace(/^(?:whsec_|v1,)/, '')
    // No form is shorter than the secret.
    if (base64.length < leastLength || text.length < base64.length) return []
    const pattern = new RegExp(listForms(base64).map(toPattern).join('|'), 'giu')
    return [...text.matchAll(pattern)].map(({ 0: found, index }): Range => {
      return [index, index + found.length]
    })
  })
}

/** The secret, its bytes, its hexadecimal text, and its base64 at any place in a group of three bytes. */
function listForms(base64: string): readonly string[] {
  const inGroups = [0, 1, 2].map((offset) => {
    const bytes = Buffer.from(' '.repeat(offset) + base64)
    // The first and the last letters also hold bits of what stands around.
    return bytes
      .subarray(0, bytes.length - (bytes.length % 3))
      .toString('base64')
      .slice(offset === 0 ? 0 : 4)
  })
  const hex = [Buffer.from(base64, 'base64'), Buffer.from(base64)].map((of) => of.toString('hex'))
  return [base64, ...hex, ...inGroups]
}

/** Marks may be escaped, and those of base64 are others in URLs. */
const toPattern = (form: string): string => form.replace(/[^a-z0-9]/gi, toMark)

const twins: Readonly<Record<string, string>> = { '+': '-', '/': '_' }

function toMark(mark: string): string {
  const code = mark.charCodeAt(0).toString(16).padStart(2, '0')
  const same = [mark, twins[mark] ?? mark].map((one) => `\\u{${one.charCodeAt(0).toString(16)}}`)
  return `(?:\\\\*[${same.join('')}]|%${code}|\\\\+u00${code})`
}
