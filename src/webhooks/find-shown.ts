/**
 * Finds where a text contains known secrets in any form: escaped for JSON, HTML or URLs, in base64 or hexadecimal, nested
 * in each other, broken into lines. Only letters and digits are compared, so characters between them do not matter.
 * Pure; a text is decoded a bounded number of times.
 */

/** From the first character to behind the last one. */
export type Range = readonly [start: number, end: number]

/** Encodings inside each other that are undone. */
const maxDepth = 4
/** Fewer letters and digits may stand in a text by chance. */
const leastLetters = 12

/** A text with the range of the source that each of its characters was decoded from. */
interface Decoded {
  readonly text: string
  readonly starts: readonly number[]
  readonly ends: readonly number[]
}

/** Where `text` shows one of `secrets` (`whsec_…` or `v1,…`): in no order, and they may overlap. */
export function findShown(text: string, secrets: readonly string[]): readonly Range[] {
  if (text.length < leastLetters) return []
  // Whatever is decoded has no more characters than before: most answers are too short for a secret in any form.
  if (secrets.every((secret) => text.length < shortestForm(secret))) return []
  const wanted = [...new Set(secrets.flatMap(toWanted))]
  const starts = Array.from({ length: text.length }, (_, at) => at)
  return search({ text, starts, ends: starts.map((at) => at + 1) }, wanted, maxDepth)
}

/** At most as many characters as the shortest of `toWanted` has. */
function shortestForm(secret: string): number {
  let letters = -prefixLetters
  for (let at = 0; at < secret.length; at += 1) if (isLetter(secret.charCodeAt(at))) letters += 1
  return letters < leastLetters ? leastLetters : letters
}

/** Of the longest prefix. */
const prefixLetters = 'whsec'.length

const isLetter = (code: number): boolean =>
  (code >= 97 && code <= 122) || (code >= 65 && code <= 90) || (code >= 48 && code <= 57)

/** The letters and digits of a secret's base64, and its bytes in hexadecimal. */
function toWanted(secret: string): readonly string[] {
  const base64 = secret.replace(/^(?:whsec_|v1,)/, '')
  return [base64, Buffer.from(base64, 'base64').toString('hex')]
    .map((form) => form.replace(/[^a-z0-9]/gi, '').toLowerCase())
    .filter(({ length }) => length >= leastLetters)
}

function search(decoded: Decoded, wanted: readonly string[], depth: number): readonly Range[] {
  const found = findLetters(decoded, wanted)
  if (depth === 0) return found
  const inner = [...undoEscapes(decoded), ...undoBase64(decoded), ...undoHex(decoded)]
  return [...found, ...inner.flatMap((one) => search(one, wanted, depth - 1))]
}

function findLetters({ text, starts, ends }: Decoded, wanted: readonly string[]): Range[] {
  const letters = text.replace(/[^a-z0-9]+/gi, '').toLowerCase()
  const ranges: Range[] = []
  for (const form of wanted) {
    for (let at = letters.indexOf(form); at !== -1; at = letters.indexOf(form, at + 1)) {
      const places = listLetters(text)
      const last = places[at + form.length - 1] ?? 0
      ranges.push([starts[places[at] ?? 0] ?? 0, ends[last] ?? 0])
    }
  }
  return ranges
}

function listLetters(text: string): readonly number[] {
  return [...text.matchAll(/[a-z0-9]/gi)].map(({ index }) => index)
}

/** `%2B`, `\u002b`, `\u{2b}`, `\x2b`, `\/`, `\n`, `&#43;`, `&#x2b;`, `&amp;`, `<br>`: texts that stand for one character or none. */
const escapes =
  /%([0-9a-f]{2})|\\+(?:u([0-9a-f]{4})|u\{0*([0-9a-f]{1,6})\}|x([0-9a-f]{2})|[nrtbfv]|([/<>&]))|&(?:#x0*([0-9a-f]{1,6})|#0*(\d{1,7}));?|&([a-z]{2,8});|<\/?[a-z]{1,6}\s*\/?>/gi

const named: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', bsol: '\\' }

/** None when nothing is escaped. */
function undoEscapes(decoded: Decoded): readonly Decoded[] {
  const text: string[] = []
  const starts: number[] = []
  const ends: number[] = []
  const add = (letter: string, from: number, to: number) => {
    text.push(letter)
    starts.push(decoded.starts[from] ?? 0)
    ends.push(decoded.ends[to - 1] ?? 0)
  }
  let after = 0
  for (const match of decoded.text.matchAll(escapes)) {
    for (let at = after; at < match.index; at += 1) add(decoded.text[at] ?? '', at, at + 1)
    after = match.index + match[0].length
    add(toLetter(match), match.index, after)
  }
  if (after === 0) return []
  for (let at = after; at < decoded.text.length; at += 1) add(decoded.text[at] ?? '', at, at + 1)
  return [{ text: text.join(''), starts, ends }]
}

/** One character; a blank for what can be no part of a secret. */
function toLetter([, percent, u, braced, x, mark, hex, decimal, name]: RegExpExecArray): string {
  if (mark !== undefined) return mark
  const digits = percent ?? u ?? braced ?? x ?? hex
  const code = digits === undefined ? Number(decimal) : Number.parseInt(digits, 16)
  if (code > 0 && code < 128) return String.fromCharCode(code)
  return named[name?.toLowerCase() ?? ''] ?? ' '
}

/** Each run of base64, with blanks and line breaks or without; where in a group of four it begins is not known. */
function undoBase64(decoded: Decoded): readonly Decoded[] {
  return undoRuns(decoded, { run: /[a-z0-9+/_-][a-z0-9+/_\s-]{38,}/gi, bits: 6 })
}

function undoHex(decoded: Decoded): readonly Decoded[] {
  return undoRuns(decoded, { run: /[0-9a-f][0-9a-f\s:]{62,}/gi, bits: 4 })
}

interface Runs {
  readonly run: RegExp
  /** That one character stands for. */
  readonly bits: 4 | 6
}

function undoRuns(decoded: Decoded, { run, bits }: Runs): readonly Decoded[] {
  const group = bits === 4 ? 2 : 4
  return [...decoded.text.matchAll(run)].flatMap(({ 0: text, index }) => {
    const letters = text.replace(/[\s:]+/g, '')
    const places = listPlaces(text, index)
    return Array.from({ length: group }, (_, offset) => {
      const own = places.slice(offset)
      const bytes = Buffer.from(letters.slice(offset), bits === 4 ? 'hex' : 'base64')
      const starts: number[] = []
      const ends: number[] = []
      for (let at = 0; at < bytes.length; at += 1) {
        starts.push(decoded.starts[own[Math.floor((at * 8) / bits)] ?? 0] ?? 0)
        ends.push(decoded.ends[own[Math.floor((at * 8 + 7) / bits)] ?? 0] ?? 0)
      }
      return { text: bytes.toString('latin1'), starts, ends }
    })
  })
}

/** Of everything that is no blank. */
function listPlaces(text: string, start: number): readonly number[] {
  const places: number[] = []
  for (let at = 0; at < text.length; at += 1)
    if (!/[\s:]/.test(text[at] ?? '')) places.push(start + at)
  return places
}
