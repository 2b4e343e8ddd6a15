/** The secret of a login: its access URL, and which setup token it was claimed with. */
import { hash } from 'node:crypto'
import { z } from 'zod'
import { consentGone, UpstreamError } from '../failure.ts'
import type { Login } from '../port.ts'

const Secret = z.object({ accessUrl: z.string().min(1), claim: z.string().nullable() })
export type SimplefinSecret = z.output<typeof Secret>

/** @throws UpstreamError `consent_lost` for a login without one. */
export function secretOf({ secret }: Pick<Login, 'secret'>): SimplefinSecret {
  const found = readSecret(secret)
  if (found !== null) return found
  const failure = { kind: 'consent_lost', becomes: 'invalidated', wholeLogin: true } as const
  throw new UpstreamError('simplefin', { ...failure, detail: consentGone })
}

/** Null: there is none, or it is none of ours. */
export function readSecret(secret: string | null): SimplefinSecret | null {
  if (secret === null || !secret.startsWith('{')) return null
  const parsed = Secret.safeParse(JSON.parse(secret))
  return parsed.success ? parsed.data : null
}

export const writeSecret = (secret: SimplefinSecret): string => JSON.stringify(secret)

/** Names a setup token, which cannot be recovered from the name. */
export const nameClaim = (url: URL): string => hash('sha256', url.href)
