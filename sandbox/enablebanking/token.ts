/** Judges the token of a request as Enable Banking does: RS256, the application's key, its times. */
import { type KeyObject, verify } from 'node:crypto'

export interface KnownApplication {
  readonly id: string
  readonly publicKey: KeyObject
}

const maxLifeSeconds = 86_400
/** A clock may be this much ahead of the provider's. */
const leewaySeconds = 5

/** The application of the token; null: it is refused. */
export function judgeToken(
  authorization: string | undefined,
  applications: readonly KnownApplication[],
  nowMs: number,
): KnownApplication | null {
  const [, token = ''] = /^Bearer (\S+)$/.exec(authorization ?? '') ?? []
  const [header = '', body = '', signature = '', ...more] = token.split('.')
  const told = readPart(header)
  const claims = readPart(body)
  if (more.length > 0 || told === null || claims === null) return null
  const application = applications.find(({ id }) => id === told.kid)
  if (application === undefined || told.alg !== 'RS256' || told.typ !== 'JWT') return null
  const bytes = Buffer.from(signature, 'base64url')
  if (!verify('sha256', Buffer.from(`${header}.${body}`), application.publicKey, bytes)) return null
  const { iss, aud, iat, exp } = claims
  if (iss !== 'enablebanking.com' || aud !== 'api.enablebanking.com') return null
  if (typeof iat !== 'number' || typeof exp !== 'number' || exp - iat > maxLifeSeconds) return null
  const now = nowMs / 1000
  return iat <= now + leewaySeconds && now < exp ? application : null
}

function readPart(text: string): Record<string, unknown> | null {
  try {
    const parsed: unknown = JSON.parse(Buffer.from(text, 'base64url').toString('utf8'))
    return typeof parsed === 'object' && parsed !== null ? { ...parsed } : null
  } catch {
    return null
  }
}
