/**
 * An application of Enable Banking, and the token that every request of it carries: a JWT (RFC 7519), RS256,
 * signed with the application's private key (docs/providers/enable-banking.md, Application).
 */
import { hash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { signByRsa } from '#kernel/rsa-key.ts'
import type { Clock } from '#kernel/time.ts'

export interface Application {
  readonly id: string
  /** PEM. */
  readonly privateKey: string
  /** A person brought it; otherwise it is this installation's. */
  readonly isOwn: boolean
}

/** The life of a token; a day would be allowed. */
const lifeSeconds = 600
/** Tokens begin earlier than now: a clock of ours that is a minute ahead must not make them invalid. */
const leewaySeconds = 60
/** A token is used until this long before its end. */
const spareSeconds = 120
/** Applications whose token is kept. */
const maxKept = 200

export type MakeToken = (application: Application) => Promise<string>

export function makeTokens(clock: Clock): MakeToken {
  const kept = new LRUCache<string, { readonly token: string; readonly until: number }>({
    max: maxKept,
  })
  return async (application) => {
    const name = hash('sha256', `${application.id} ${application.privateKey}`)
    const now = Math.floor(clock.now() / 1000)
    const known = kept.get(name)
    // One that ends later than a new one would is from before the clock was set back.
    if (known !== undefined && now < known.until - spareSeconds && known.until <= now + lifeSeconds)
      return known.token
    const token = await signToken(application, now)
    kept.set(name, { token, until: now + lifeSeconds })
    return token
  }
}

async function signToken({ id, privateKey }: Application, now: number): Promise<string> {
  const header = { typ: 'JWT', alg: 'RS256', kid: id }
  const body = {
    iss: 'enablebanking.com',
    aud: 'api.enablebanking.com',
    iat: now - leewaySeconds,
    exp: now + lifeSeconds,
  }
  const text = [header, body].map((part) => toBase64(JSON.stringify(part))).join('.')
  const signature = await signByRsa(text, privateKey)
  return `${text}.${Buffer.from(signature).toString('base64url')}`
}

const toBase64 = (text: string): string => Buffer.from(text).toString('base64url')
