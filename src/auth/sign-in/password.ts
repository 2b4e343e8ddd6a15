/**
 * Passwords: argon2id as a PHC string (RFC 9106, the OWASP parameters, measured at 28 ms here). Hashing goes
 * through a queue (hashing-queue.ts); checking takes the same time whether the account exists or not.
 */
import { argon2, randomBytes, timingSafeEqual } from 'node:crypto'
import { type HashingTurn, makeHashingQueue } from './hashing-queue.ts'

export const minPasswordLength = 10
export const maxPasswordLength = 256

interface Cost {
  readonly memory: number
  readonly passes: number
  readonly parallelism: number
}

const cost: Cost = { memory: 19_456, passes: 2, parallelism: 1 }
const tagLength = 32
const nonceLength = 16
/** Used by operators and by set-up code. */
const operator: HashingTurn = { from: 'operator', isKnown: true }

export interface Passwords {
  /** The PHC string to store. The password must have passed `isAcceptable`. @throws PasswordsBusyError */
  hash(password: string, turn?: HashingTurn): Promise<string>
  /**
   * `stored` null: no such account; the check takes as long all the same. @throws PasswordsBusyError,
   * DamagedHashError
   */
  check(password: string, stored: string | null, turn?: HashingTurn): Promise<boolean>
}

/** The stored text is no hash, or one that no installation makes. */
export class DamagedHashError extends Error {
  override readonly name = 'DamagedHashError'
}

/** Derives the tag of a password: the deliberately slow part of sign-in. */
export type DeriveTag = (password: string, nonce: Buffer, cost: Cost) => Promise<Buffer>

/**
 * From 10 to 256 characters, whatever they are (NIST SP 800-63B §3.1.1: length counts, composition does not).
 */
export function isAcceptable(password: string): boolean {
  const length = [...normal(password)].length
  return length >= minPasswordLength && length <= maxPasswordLength
}

/**
 * Makes the hasher of a process.
 * @param deriveTag the slow part; a test may replace it to count calls.
 */
export function makePasswords(
  deriveTag: DeriveTag = derive,
  queue = makeHashingQueue(),
): Passwords {
  return {
    async hash(password, turn = operator) {
      const nonce = randomBytes(nonceLength)
      return toPhc(nonce, await queue.run(turn, () => deriveTag(password, nonce, cost)))
    },
    async check(password, stored, turn = operator) {
      const parsed = stored === null ? nobody : parse(stored)
      const { nonce, cost } = parsed ?? nobody
      const given = await queue.run(turn, () => deriveTag(password, nonce, cost))
      // After the same work: no time shows it.
      if (parsed === null) throw new DamagedHashError('a stored password hash is damaged')
      return timingSafeEqual(given, parsed.tag) && stored !== null
    },
  }
}

/** Compared against when the account does not exist: same cost, and no password matches. */
const nobody = { cost, nonce: Buffer.alloc(nonceLength), tag: Buffer.alloc(tagLength) }

function toPhc(nonce: Buffer, tag: Buffer): string {
  const { memory, passes, parallelism } = cost
  return `$argon2id$v=19$m=${memory},t=${passes},p=${parallelism}$${base64(nonce)}$${base64(tag)}`
}

function derive(
  password: string,
  nonce: Buffer,
  { memory, passes, parallelism }: Cost,
): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    argon2(
      'argon2id',
      { message: Buffer.from(normal(password)), nonce, parallelism, tagLength, memory, passes },
      (error, tag) => (error === null ? resolve(Buffer.from(tag)) : reject(error)),
    )
  })
}

/** Different keyboards can encode one character in two ways. */
function normal(password: string): string {
  return password.normalize('NFKC')
}

const phc =
  /^\$argon2id\$v=19\$m=(\d{1,6}),t=([1-9]),p=([1-9])\$([A-Za-z0-9+/]{22})\$([A-Za-z0-9+/]{43})$/
/** In KiB, several times what is used here. */
const mostMemory = 131_072
/** Argon2 takes no less (RFC 9106 §3.1). */
const leastMemoryPerLane = 8

/** Null: it is damaged. */
function parse(stored: string): typeof nobody | null {
  const [, memory, passes, parallelism, nonce, tag] = phc.exec(stored) ?? []
  if (nonce === undefined || tag === undefined) return null
  const cost = { memory: Number(memory), passes: Number(passes), parallelism: Number(parallelism) }
  const least = leastMemoryPerLane * cost.parallelism
  if (cost.memory < least || cost.memory > mostMemory) return null
  return {
    cost,
    nonce: Buffer.from(nonce, 'base64'),
    tag: Buffer.from(tag, 'base64'),
  }
}

/** PHC strings use base64 without padding. */
function base64(bytes: Buffer): string {
  return bytes.toString('base64').replaceAll('=', '')
}
