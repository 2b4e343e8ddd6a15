/**
 * Removes secrets from a log line just before it is written, whatever their source (a header, a URL inside an
 * error, a library). It works on the finished JSON line, so that no field and no nesting is missed; a line
 * without any sign of a secret costs one scan.
 */

const mask = '[secret]'

/** Names whose value is secret: as a JSON key, a header, a query parameter or a word before a colon. */
const secretName =
  '(?:authorization|cookie|signature|password|passwd|passphrase|secret|token|consumer[_-]?key|api[_-]?key|encryption[_-]?key|private[_-]?key|code[_-]?verifier|akahu-id)s?'
const name = `[\\w-]{0,40}?${secretName}`
/** In running text a name starts at a word boundary: long words would need forty attempts per letter. */
const word = `(?<![\\w-])${name}`

/** A match means only that the replacements below must run. */
const trace =
  /trib_|token|secret|authoriz|cookie|signature|passw|passphrase|[a-z_-]key|akahu-id|verifier|bearer|basic|dpop|whsec_|up:|eyJ|aHR0c|private key|LS0tLS1|[?@]/i

const replacements: readonly (readonly [RegExp, string])[] = [
  // "password":"…" of the line itself; arrays, objects and numbers too.
  [
    new RegExp(
      `("${name}"\\s*:\\s*)(?:"(?:[^"\\\\]|\\\\.)*"|\\[[^\\]]*\\]|\\{[^}]*\\}|-?\\d[\\w.+-]*)`,
      'gi',
    ),
    `$1"${mask}"`,
  ],
  // The same inside a string value (JSON in an error message): quotes are escaped, those of values twice.
  [
    new RegExp(
      `(\\\\"${name}\\\\"\\s*:\\s*)(?:\\\\"(?:[^"\\\\]|\\\\\\\\(?:\\\\.|[^"\\\\]))*\\\\"|\\[[^\\]]*\\]|-?\\d[\\w.+-]*)`,
      'gi',
    ),
    `$1\\"${mask}\\"`,
  ],
  // Nested more deeply: up to the next quote.
  [new RegExp(`(\\\\{2,}"${name}\\\\+"\\s*:\\s*\\\\+")[^"\\\\]*`, 'gi'), `$1${mask}`],
  // Header lines: to the end of the line, since a cookie holds several values.
  [/((?:authorization|cookie|signature|akahu-id)\s*:\s*)[^"\\\r\n'[]+/gi, `$1${mask}`],
  // secret: 'x' as Node's inspector prints it, password: x, userSecret=x&…
  [new RegExp(`(${word}\\s*[:=]\\s*)'[^']*'`, 'gi'), `$1'${mask}'`],
  [new RegExp(`(${word}\\s*[:=]\\s*)[^\\s"'\\\\&;,[\\]{}]+`, 'gi'), `$1${mask}`],
  [new RegExp(`(${word}\\s*[:=]\\s*\\\\+")[^"\\\\]*`, 'gi'), `$1${mask}`],
  [/\b(Bearer|Basic|DPoP)(\s+)[\w.~+/=-]+/gi, `$1$2${mask}`],
  // By format: our keys (six characters of their secret are public), tokens, webhook secrets, JWTs.
  [/(trib_[a-z]+_)[\w-]{7,}/g, `$1${mask}`],
  [/((?:user|app)_token_)\w+/g, `$1${mask}`],
  [/(whsec_)[\w+/=-]+/g, `$1${mask}`],
  [/\b(up:)[^\s"'\\]+/gi, `$1${mask}`],
  [/eyJ[\w-]{5,}\.[\w-]+\.[\w-]*/g, mask],
  // A setup token of SimpleFIN is the base64 of an address.
  [/aHR0c[\w+/=-]{12,}/g, mask],
  // A private key in PEM, to its end or that of its text, and the base64 of one.
  [/-----BEGIN [A-Z ]*PRIVATE KEY(?:(?!-----END)[^"])*(?:-----END [A-Z ]*-----)?/g, mask],
  [/LS0tLS1CRUdJTi[\w+/=-]{12,}/g, mask],
  // URLs: user-info, and whole queries, since SnapTrade's contain its secrets.
  [/(\w:\/\/)[^\s/"'@\\]+@/g, `$1${mask}@`],
  [/(:\/\/[^\s"'\\?#]*\?)[^\s"'\\]+/g, '$1[query]'],
  [/(\?)[\w.%~[\]-]+=[^\s"'\\]*/g, '$1[query]'],
]

const leastLength = 6

/**
 * Makes the function that redacts a finished line.
 * @param secrets exact values that must never be printed, whatever their format; values that are too short
 *   are skipped, since they would also remove ordinary words.
 */
export function makeRedactor(secrets: readonly string[] = []): (line: string) => string {
  const exact = makeExactPattern(secrets)
  return (line) => {
    const known = exact === null ? line : line.replace(exact, mask)
    if (!trace.test(known)) return known
    return replacements.reduce((text, [pattern, by]) => text.replace(pattern, by), known)
  }
}

function makeExactPattern(secrets: readonly string[]): RegExp | null {
  const forms = secrets
    .filter((secret) => secret.length >= leastLength)
    .flatMap((secret) => [secret, JSON.stringify(secret).slice(1, -1), encodeURIComponent(secret)])
  if (forms.length === 0) return null
  // The longest first, so that a secret that contains another one is removed completely.
  const distinct = [...new Set(forms)].sort((one, other) => other.length - one.length)
  return new RegExp(distinct.map((form) => RegExp.escape(form)).join('|'), 'g')
}
