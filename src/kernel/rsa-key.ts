/**
 * Reads an RSA private key in every form in which people copy it: PEM with its lines (RFC 7468), in one line
 * or with `\n` between them, and base64 of each. Pure. It never repeats what was given.
 */
import { createPrivateKey, createPublicKey, type KeyObject, sign, verify } from 'node:crypto'
import { promisify } from 'node:util'

export type PrivateKeyResult =
  /** `pem`: with its lines. */
  | { readonly kind: 'key'; readonly pem: string }
  /** Completes "the private key …". */
  | { readonly kind: 'problem'; readonly detail: string }

const problem = (detail: string): PrivateKeyResult => ({ kind: 'problem', detail })

const copyAll =
  'is no PEM text: copy the whole file, with the lines that begin and end with five dashes'

const hasPassphrase =
  'has a passphrase: remove it with `openssl pkey -in FILE`, then copy the result'

/** The key must be RSA of 2048 to 4096 bits, without a passphrase (RS256, RFC 7518 §3.3). */
export function readPrivateKey(given: string): PrivateKeyResult {
  const text = given.includes('-----BEGIN') ? given : decode(given)
  // As PKCS#1 has it (RFC 1421); PKCS#8 has a label of its own.
  if (/Proc-Type: ?4, ?ENCRYPTED/.test(text)) return problem(hasPassphrase)
  // A file may have a certificate before the key.
  const found =
    /-----BEGIN ([A-Z0-9 ]{0,28}PRIVATE KEY)-----([^-]*)-----END \1-----/.exec(text) ??
    /-----BEGIN ([A-Z0-9 ]{1,40})-----([^-]*)-----END \1-----/.exec(text)
  const [, label = '', inner = ''] = found ?? []
  const body = inner.replace(/\\[nr]|\s+/g, '')
  if (found === null || !/^[A-Za-z0-9+/]+={0,2}$/.test(body)) return problem(copyAll)
  if (/CERTIFICATE|PUBLIC KEY/.test(label)) {
    return problem('is the public part: copy the file of the private key')
  }
  if (label === 'ENCRYPTED PRIVATE KEY') {
    return problem(hasPassphrase)
  }
  const lines = body.match(/.{1,64}/g) ?? []
  return check(`-----BEGIN ${label}-----\n${lines.join('\n')}\n-----END ${label}-----\n`)
}

function decode(given: string): string {
  const text = given.replace(/\s+/g, '')
  return /^[A-Za-z0-9+/]+={0,2}$/.test(text) ? Buffer.from(text, 'base64').toString('latin1') : ''
}

const leastBits = 2048
/** The time that a signature takes grows with the third power of it. */
const mostBits = 4096

function check(pem: string): PrivateKeyResult {
  try {
    const key = createPrivateKey(pem)
    const { asymmetricKeyType, asymmetricKeyDetails } = key
    if (asymmetricKeyType !== 'rsa') return problem('is no RSA key')
    const { modulusLength = 0 } = asymmetricKeyDetails ?? {}
    if (modulusLength < leastBits || modulusLength > mostBits) {
      const fault = `has ${modulusLength < leastBits ? 'fewer' : 'more'} bits than it may have`
      return problem(`${fault}: make a new one of ${leastBits} to ${mostBits} bits`)
    }
    return hasLongNumbers(key) ? problem(damaged) : { kind: 'key', pem }
  } catch {
    // The reason may hold parts of the key.
    return problem(damaged)
  }
}

const damaged = 'cannot be read: it is cut or damaged; copy the whole file again'

/** Whether a number is longer than the modulus, which none of a true key is. */
function hasLongNumbers(key: KeyObject): boolean {
  const {
    n = '',
    e = '',
    d = '',
    p = '',
    q = '',
    dp = '',
    dq = '',
    qi = '',
  } = key.export({
    format: 'jwk',
  })
  return [e, d, p, q, dp, dq, qi].some((number) => number.length > n.length)
}

const signLater = promisify(sign)
const verifyLater = promisify(verify)

/** A signature by RS256 (RFC 7518 §3.3), made beside the event loop. @throws Error for a damaged key. */
export function signByRsa(text: string, pem: string): Promise<Uint8Array> {
  return signLater('sha256', Buffer.from(text), pem)
}

/** Whether the key makes signatures that its own public half accepts: its numbers belong together. */
export async function isTrueKey(pem: string): Promise<boolean> {
  const text = 'a text to sign'
  try {
    const signature = await signByRsa(text, pem)
    return await verifyLater('sha256', Buffer.from(text), createPublicKey(pem), signature)
  } catch {
    return false
  }
}

/** The texts by which a key in PEM could be printed: in one line, each of its lines, and in base64. */
export function listKeyTexts(pem: string): readonly string[] {
  const lines = pem.split('\n').filter((line) => line !== '' && !line.startsWith('-----'))
  return [lines.join(''), Buffer.from(pem).toString('base64'), ...lines]
}
