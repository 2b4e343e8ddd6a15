/**
 * The Fiskil emulator's authentication: client credentials are exchanged for signed tokens of fifteen
 * minutes; and the version header. It refuses what Fiskil refuses: unknown credentials, expired or foreign
 * tokens, unknown versions.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'
import type { Clock } from '#kernel/time.ts'
import type { EmulatorReply, EmulatorRequest } from '../emulator.ts'
import { dataError, serviceError } from './answers.ts'

export interface FiskilCredentials {
  readonly clientId: string
  readonly clientSecret: string
}

/** The credentials of the demo and the tests; they are valid nowhere else. */
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

interface Door {
  readonly clock: Clock
  readonly credentials: FiskilCredentials
  /** Part of every signature: increasing it makes all earlier tokens invalid. */
  generation: number
  minted: number
}

/** Makes the authentication of one emulator. */
export function makeAuth(options: {
  readonly clock: Clock
  readonly credentials: FiskilCredentials
}): FiskilAuth {
  const door: Door = { ...options, generation: 0, minted: 0 }
  return {
    mint: (request) => mint(door, request),
    refuse(request) {
      const [scheme, token = ''] = (request.headers.authorization ?? '').split(' ')
      if (scheme === 'Bearer' && isGood(door, token)) return null
      const message = 'token is invalid or expired'
      return dataError({ status: 401, name: 'unauthorized', message })
    },
    version: readVersion,
    forgetTokens: () => {
      door.generation += 1
    },
  }
}

function mint(door: Door, request: EmulatorRequest): EmulatorReply {
  const { clientId, clientSecret } = door.credentials
  const given = readCredentials(request.body)
  if (given === null) {
    const message = '"client_id" and "client_secret" are required'
    return serviceError({ status: 400, name: 'missing_field', message })
  }
  if (given.clientId !== clientId || given.clientSecret !== clientSecret) {
    const message = 'invalid client credentials'
    return serviceError({ status: 401, name: 'unauthorized', message })
  }
  door.minted += 1
  const seconds = Math.floor(door.clock.now() / 1000)
  const claims = [
    encode({ alg: 'HS256', typ: 'JWT' }),
    encode({
      org_id: 'org_sandbox',
      key_id: clientId,
      scope: 'api:banking api:user.read api:user.write',
      iat: seconds,
      exp: seconds + tokenSeconds,
      jti: `token-${door.minted}`,
    }),
  ].join('.')
  const token = `${claims}.${sign(door, claims).toString('base64url')}`
  return { status: 200, body: { token, expires_in: tokenSeconds, token_type: 'Bearer' } }
}

function sign(door: Door, claims: string): Buffer {
  const key = `${door.credentials.clientSecret}:${door.generation}`
  return createHmac('sha256', key).update(claims).digest()
}

function isGood(door: Door, token: string): boolean {
  const cut = token.lastIndexOf('.')
  if (cut === -1) return false
  const claims = token.slice(0, cut)
  const expected = sign(door, claims)
  const given = Buffer.from(token.slice(cut + 1), 'base64url')
  if (given.length !== expected.length || !timingSafeEqual(given, expected)) return false
  const payload = JSON.parse(Buffer.from(claims.split('.')[1] ?? '', 'base64url').toString())
  return typeof payload.exp === 'number' && payload.exp * 1000 > door.clock.now()
}

/** Without the header the version pinned in the Console counts; new accounts are pinned to the newest. */
function readVersion(request: EmulatorRequest): FiskilApiVersion | EmulatorReply {
  const header = request.headers['x-fiskil-version'] ?? 'v3'
  if (typeof header === 'string' && versions.includes(header)) return header as FiskilApiVersion
  const message = 'X-Fiskil-Version must be one of v1, v2, v3'
  return dataError({ status: 400, name: 'invalid_version', message })
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
