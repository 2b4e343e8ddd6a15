/**
 * Masks account numbers inside free text from people, banks and brokers, so that at most the last four
 * characters stay visible (contract, Account: "always masked"). It recognises numbers by their shape, and a
 * number given by the provider in every spelling. Ordinary numbers (years, dates, amounts, four digits of a
 * card) are not changed. Pure.
 */

const hidden = 'xxxx'

/** Separators allowed between the digits of one number. People type slashes and dots too. */
const between = '[ ./\\\\_|·\u200b-]{0,8}'
/** No account number is longer than this; longer numbers would only slow the pattern down. */
const maxCharacters = 64
/** A part of a number that has at least this many digits is hidden on its own too. */
const minPart = 6

/** The text with everything hidden that has the shape of an account, card or branch number. */
export function hideNumberShapes(text: string): string {
  if (!/\p{Nd}|\p{No}/u.test(text)) return text
  return shapes.reduce((shown, [pattern, judge]) => {
    return replace(shown, { pattern, judge, shadow: withoutOrdinary(toShadow(shown)) })
  }, text)
}

/**
 * Replaces a number given by the provider, in any spelling, and its long parts with `mask`. A number of four
 * characters or fewer is returned unchanged, because a mask shows that much anyway.
 */
export function hideAccountNumber(text: string, number: string, mask: string | null): string {
  const plain = toShadow(number)
  const whole = plain.replace(/[^0-9A-Za-z]/g, '')
  const parts = plain.split(/[^0-9A-Za-z]+/).filter((part) => part.length >= minPart)
  const bare = [whole, ...parts].map((one) => one.replace(/^0+/, ''))
  const forms = new Set([whole, ...parts, ...bare.filter((one) => one.length >= minPart)])
  return [...forms]
    .filter((form) => form.length > 4 && form.length <= maxCharacters && /\d/.test(form))
    .toSorted((left, right) => right.length - left.length)
    .reduce((shown, form) => {
      const pattern = new RegExp([...form].join(between), 'gi')
      const judge: Judge = ({ found }) => ({ ...found, by: mask ?? hidden })
      return replace(shown, { pattern, judge, shadow: toShadow(shown) })
    }, text)
}

interface Span {
  readonly start: number
  readonly end: number
}

interface Match {
  readonly found: Span
  readonly text: string
  /** What the pattern's last group matched. */
  readonly inner: Span | null
  readonly innerText: string
}

/**
 * Decides which part of a match to hide, and the replacement; null when the match is not an account number.
 */
type Judge = (match: Match) => (Span & { readonly by: string }) | null

const digitsOf = (text: string) => text.replace(/\D/g, '')
const masked = (text: string) => `${hidden}${text.replace(/[^0-9A-Za-z]/g, '').slice(-4)}`

/** Only years: `2024 2025 2026 2027` is not a card number. */
const isYears = (text: string) => /^(?:(?:19|20)\d\d\D*)+$/.test(text)
/** `20261231`, `31122026`. */
const isCompactDate = (digits: string) =>
  /^(?:(?:19|20)\d\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])|(?:0[1-9]|[12]\d|3[01])(?:0[1-9]|1[0-2])(?:19|20)\d\d)$/.test(
    digits,
  )

/** Twelve digits or more are a card or an account number; eleven are when they start like a BSB. */
const judgeRun: Judge = ({ found, text }) => {
  const { length } = digitsOf(text)
  if (isYears(text)) return null
  const isBranchFirst = /^(?:\d{3}\D+\d{3}\D*\d{5,}|\d{6}\D+\d{5,})$/.test(text)
  return length >= 12 || isBranchFirst ? { ...found, by: masked(text) } : null
}

const judgeIban: Judge = ({ found, text }) =>
  digitsOf(text).length >= 10 ? { ...found, by: masked(text) } : null

const judgeBranch: Judge = ({ inner }) => (inner === null ? null : { ...inner, by: hidden })

const judgeBlock: Judge = ({ found, text }) =>
  isCompactDate(text) ? null : { ...found, by: masked(text) }

/** After a word such as "account": six digits, or seven with separators that do not start with a year. */
const judgeNamed: Judge = ({ inner, innerText }) => {
  const isWhole = /^\d+$/.test(innerText)
  const { length } = digitsOf(innerText)
  if (inner === null || length < (isWhole ? 6 : 7)) return null
  if (isWhole ? isCompactDate(innerText) : /^(?:19|20)\d\d\D/.test(innerText)) return null
  return { ...inner, by: masked(innerText) }
}

const branchWords = '(?:bsb|sort ?code|branch)'
const accountWords = '(?:acc(?:oun)?t?s?|a/c|iban|card|num(?:ber)?|no|nr|#)'
const glue = '[ .:#=\u200b-]{0,8}'

/** The order matters: a part of a longer number must not match as a number of its own. */
const shapes: readonly (readonly [RegExp, Judge])[] = [
  [
    /(?<![0-9a-z])[a-z]{2}\d{2}(?:[ -]?[a-z0-9]{4}){2,7}(?:[ -]?[a-z0-9]{1,3})?(?![0-9a-z])/gi,
    judgeIban,
  ],
  [new RegExp(`(?<!\\d)\\d(?:${between}\\d){10,}(?!\\d)`, 'g'), judgeRun],
  [
    new RegExp(
      `\\b${branchWords}(?: (?:no|number|nr))?${glue}(\\d{3}${between}\\d{3})(?!\\d)`,
      'gid',
    ),
    judgeBranch,
  ],
  [/(?<!\d)(\d{3}-\d{3})(?!\d)/dg, judgeBranch],
  [/(?<!\d)\d{8,}(?!\d)/g, judgeBlock],
  [
    new RegExp(
      `(?<![a-z])${accountWords}(?: (?:no|number|nr))?${glue}(\\d(?:${between}\\d){5,})(?!\\d)`,
      'gid',
    ),
    judgeNamed,
  ],
]

interface Search {
  readonly pattern: RegExp
  readonly judge: Judge
  /** Same length as the text, so that an index found here is valid in the text too. */
  readonly shadow: string
}

function replace(text: string, { pattern, judge, shadow }: Search): string {
  let shown = ''
  let at = 0
  for (const match of shadow.matchAll(pattern)) {
    const inner = match.indices?.at(-1)
    const span = judge({
      found: { start: match.index, end: match.index + match[0].length },
      text: match[0],
      inner: inner === undefined ? null : { start: inner[0], end: inner[1] },
      innerText: match.at(-1) ?? '',
    })
    if (span === null || span.start < at) continue
    shown += text.slice(at, span.start) + span.by
    at = span.end
  }
  return shown + text.slice(at)
}

const day = '(?:0?[1-9]|[12]\\d|3[01])'
const month = '(?:0?[1-9]|1[0-2])'
const year = '(?:19|20)\\d\\d'
const ordinary = new RegExp(
  `(?<!\\d)(?:${year}[-/.]${month}[-/.]${day}|${day}[-/.]${month}[-/.]${year})(?!\\d)|[$\u20ac\u00a3\u00a5] ?\\d{1,12}(?!\\d)`,
  'g',
)

/** Dates and amounts are blanked out, because their digits belong to no account number. */
const withoutOrdinary = (shadow: string) =>
  shadow.replace(ordinary, (one) => '~'.repeat(one.length))

/** Converts digits, letters, blanks and dashes in other Unicode forms to ASCII, keeping every index. */
function toShadow(text: string): string {
  let shadow = ''
  for (const character of text) {
    shadow += toPlain(character).padEnd(character.length, filler)
  }
  return shadow
}

const filler = '\u200b'

function toPlain(character: string): string {
  if (character <= '~') return character === '\t' || character === '\n' ? ' ' : character
  const plain = character.normalize('NFKC')
  if (/^[!-~]$/.test(plain)) return plain
  if (/^\p{Nd}$/u.test(character)) return String(digitValue(character))
  if (/^[\p{Pd}\u2212]$/u.test(character)) return '-'
  if (/^[\s\p{Z}]$/u.test(character)) return ' '
  return /^\p{Cf}$/u.test(character) ? filler : character
}

/** Unicode 4.6: the decimal digits of every script are ten code points from one that ends in 0 or in 6. */
function digitValue(character: string): number {
  const code = character.codePointAt(0) ?? 0
  const low = code % 16
  const first = /^\p{Nd}$/u.test(String.fromCodePoint(code - low)) ? 0 : 6
  return low - first
}
