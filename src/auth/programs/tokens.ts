/**
 * Secrets of programs that read SimpleFIN: one for the setup token, then a user name and a password. All have
 * letters and digits alone, because clients take them apart by hand. They are no API keys and open nothing
 * else.
 */
import { hash, randomBytes } from 'node:crypto'

const secretBytes = 24
const userBytes = 8

export interface MintedAccess {
  readonly user: string
  readonly password: string
  /** SHA-256 of `user:password`: 192 random bits need no slow hash. */
  readonly hash: Uint8Array
}

/** 192 random bits. */
export const mintSetupSecret = (): string => randomBytes(secretBytes).toString('hex')

export function mintAccess(): MintedAccess {
  const [user, password] = [randomBytes(userBytes), randomBytes(secretBytes)].map((bytes) =>
    bytes.toString('hex'),
  ) as [string, string]
  return { user, password, hash: hashSecret(`${user}:${password}`) }
}

export const hashSecret = (text: string): Uint8Array => hash('sha256', text, 'buffer')
