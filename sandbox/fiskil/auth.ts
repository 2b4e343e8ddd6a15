/**
 * The Fiskil emulator's door: client credentials against signed tokens of fifteen minutes, and the version header. It
 * refuses what the real one refuses: unknown credentials, expired or foreign tokens, versions that do not exist.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'
import type { Clock } from '#kernel/time.ts'
import type { EmulatorReply, EmulatorRequest } from '../emulator.ts'
import { dataError, serviceError } from './answers.ts'

export interface FiskilCredentials {
  readonly clientId: string
  readonly clientSecret: string
}

/** What the demo and the tests sign in with; worth nothing anywhere else. */
export const fiskilDemoCredentials: FiskilCredentials = {
  clientId: 'sandbox-fiskil-client',
  clientSecret: 'sandbox-fiskil-client-secret',
}

export type FiskilApiVersion = 'v1' | 'v2' | 'v3'
const versions: readonly string[] = ['v1', 'v2', 'v3'] satisfies FiskilApiVersion[]
const tokenSeconds = 900

export interface FiskilAuth {
  /** `POST /v1/token`. */
  mint(request: EmulatorRequest): EmulatorReply
  /** Null when the bearer token is good, else the refusal. */
  refuse(request: EmulatorRequest): EmulatorReply | null
  /** The version a request is answered in, or the refusal of one that does not exist. */
  version(request: EmulatorRequest): FiskilApiVersion | EmulatorReply
  /** Every token given out so far is refused from now on. */
  forgetTokens(): void
}

/** Makes the door of one emulator. */
export function makeAuth(options: {
  readonly clock: Clock
  readonly credentials: FiskilCredentials
}): FiskilAuth {
  const { clock, credentials } = options
  let generation = 0
  let minted = 0

  const sign = (claims: string) =>
    createHmac('sha256', `${credentials.clientSecret}:${generation}`).update(claims).digest()

  function mint(request: EmulatorRequest): EmulatorReply {
    const given = readCredentials(request.body)
    if (given === null) {
      return serviceError({
        status: 400,
        name: 'missing_field',
        message: '"client_id" and "client_secret" are required',
      })
    }
    if (
      given.clientId !== credentials.clientId ||
      given.clientSecret !== credentials.clientSecret
    ) {
      return serviceError({
        status: 401,
        name: 'unauthorized',
        message: 'invalid client credentials',
      })
    }
    minted += 1
    const seconds = Math.floor(clock.now() / 1000)
    const claims = [
      encode({ alg: 'HS256', typ: 'JWT' }),
      encode({
        org_id: 'org_sandbox',
        key_id: credentials.clientId,
        scope: 'api:banking api:user.read api:user.write',
        iat: seconds,
        exp: seconds + tokenSeconds,
        jti: `token-${minted}`,
      }),
    ].join('.')
    const token = `${claims}.${sign(claims).toString('base64url')}`
    return { status: 200, body: { token, expires_in: tokenSeconds, token_type: 'Bearer' } }
  }

  function isGood(token: string): boolean {
    const cut = token.lastIndexOf('.')
    if (cut === -1) return false
    const claims = token.slice(0, cut)
    const expected = sign(claims)
    const given = Buffer.from(token.slice(cut + 1), 'base64url')
    if (given.length !== expected.length || !timingSafeEqual(given, expected)) return false
    const payload = JSON.parse(Buffer.from(claims.split('.')[1] ?? '', 'base64url').toString())
    return typeof payload.exp === 'number' && payload.exp * 1000 > clock.now()
  }

  return {
    mint,
    refuse(request) {
      const [scheme, token = ''] = (request.headers.authorization ?? '').split(' ')
      if (scheme === 'Bearer' && isGood(token)) return null
      return dataError({
        status: 401,
        name: 'unauthorized',
        message: 'token is invalid or expired',
      })
    },
    version(request) {
      // Without the header the version pinned in the Console counts; new accounts are pinned to the newest.
      const header = request.headers['x-fiskil-version'] ?? 'v3'
      if (typeof header === 'string' && versions.includes(header)) return header as FiskilApiVersion
      return dataError({
        status: 400,
        name: 'invalid_version',
        message: 'X-Fiskil-Version must be one of v1, v2, v3',
      })
    },
    forgetTokens: () => {
      generation += 1
    },
  }
}

function readCredentials(body: string): FiskilCredentials | null {
  try {
    const parsed = JSON.parse(body)
    if (typeof parsed?.client_id !== 'string' || typeof parsed.client_secret !== 'string')
      return null
    return { clientId: parsed.client_id, clientSecret: parsed.client_secret }
  } catch {
    // Not JSON: refused with the same words as a missing field.
    return null
  }
}

function encode(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}
