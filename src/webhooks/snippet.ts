/**
 * What is kept of a receiver's answer: its first KiB, without what could sign in our name or open a door.
 * Receivers that show what they were sent are common, so their answers hold our signatures.
 */
import { findShown } from './find-shown.ts'

const keptBytes = 1024
/** Characters that are searched for secrets. */
const lookedAt = 3072
/** This many of these are shown: a secret that begins among them also ends among those that are searched. */
const shownAt = 2048
const mask = '[secret]'

/**
 * @param exact secrets and signatures of this attempt, removed wherever they stand, in whatever form.
 * @param redact removes secrets by their form.
 */
export function toSnippet(
  answer: string,
  exact: readonly string[],
  redact: (text: string) => string,
): Uint8Array | null {
  if (answer === '') return null
  return cut(Buffer.from(redact(hide(answer.slice(0, lookedAt), exact))))
}

function hide(text: string, exact: readonly string[]): string {
  const shown: string[] = []
  let after = 0
  const ranges = findShown(text, exact).toSorted(([one], [other]) => one - other)
  for (const [start, end] of ranges) {
    if (start > shownAt) break
    if (start >= after) shown.push(text.slice(after, start), mask)
    after = Math.max(after, end)
  }
  return [...shown, text.slice(after, Math.max(after, shownAt))].join('')
}

/** Never in the middle of a character. */
function cut(bytes: Buffer): Buffer {
  if (bytes.length <= keptBytes) return bytes
  let end = keptBytes
  while (((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1
  return bytes.subarray(0, end)
}
