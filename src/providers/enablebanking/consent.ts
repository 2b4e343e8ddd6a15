/**
 * What a login reaches, and whether it still does: its application, its session, and what that proves
 * (readings R20b, R36). The session is asked, which is no call to the bank.
 */
import { z } from 'zod'
import { type Clock, minuteMs } from '#kernel/time.ts'
import type { Budget } from '../budget.ts'
import type { RevokeOptions } from '../credentials.ts'
import { UpstreamError } from '../failure.ts'
import type { CallContext, Login } from '../port.ts'
import type { Readings } from '../readings.ts'
import type { Application } from './application.ts'
import type { EnableBankingClient } from './client.ts'
import { ended, RefusedError } from './failures.ts'
import type { Banks } from './institutions.ts'
import { readSecret, sessionOf } from './secret.ts'
import { readBody, type Session, SessionBody } from './wire.ts'

/** What everything at Enable Banking needs. */
export interface Reach {
  readonly client: EnableBankingClient
  readonly banks: Banks
  readonly readings: Readings
  readonly clock: Clock
  readonly throttle: Budget
  readonly note: (what: string) => void
}

/** @throws UpstreamError `misconfigured` where the login has no application of its own and none is set. */
export function applicationOf({ client }: Pick<Reach, 'client'>, login: Login | null): Application {
  const own = login === null ? null : readSecret(login)?.application
  if (own) return { ...own, isOwn: true }
  if (client.application !== null) return client.application
  throw new UpstreamError('enablebanking', {
    kind: 'misconfigured',
    status: 401,
    detail:
      'this login has no application of its own, and none is set: set ENABLEBANKING_APPLICATION_ID and ENABLEBANKING_PRIVATE_KEY, or link again',
  })
}

/** @throws UpstreamError */
export async function readSession(
  { client }: Pick<Reach, 'client'>,
  application: Application,
  id: string,
  call: CallContext,
): Promise<Session> {
  const target = `/sessions/${encodeURIComponent(id)}`
  const request = { method: 'GET', route: '/sessions/{id}', target } as const
  return readBody(SessionBody, await client.send(application, request, call))
}

type Ended = 'invalidated' | 'revoked'

/** Null: it is open. Else what has become of it. */
export function judgeStatus(status: string): Ended | null {
  if (status === 'AUTHORIZED') return null
  return status === 'REVOKED' || status === 'CANCELLED' ? 'revoked' : 'invalidated'
}

/** The session of a login, or what has become of it: its refusal tells that as well as its status. */
export async function readOrEnded(
  reach: Pick<Reach, 'client'>,
  login: Login,
  call: CallContext,
): Promise<Session | Ended> {
  const { session } = sessionOf(login)
  try {
    const found = await readSession(reach, applicationOf(reach, login), session.id, call)
    return judgeStatus(found.status) ?? found
  } catch (error) {
    const failure = error instanceof RefusedError ? error.failure : null
    if (failure?.kind !== 'consent_lost' || failure.becomes === 'pending_mfa') throw error
    return failure.becomes
  }
}

/** The open session of a login. @throws UpstreamError `consent_lost` for one that has ended. */
export async function readOpenSession(
  reach: Pick<Reach, 'client'>,
  login: Login,
  call: CallContext,
): Promise<Session> {
  return demandOpen(await readOrEnded(reach, login, call))
}

const sessionLifeMs = minuteMs
const Kept = z.union([SessionBody, z.enum(['invalidated', 'revoked'])])

/**
 * The same from an answer that is at most a minute old: one serves all accounts of the login and all who read
 * them. It is kept by the secret, so a renewal, which brings another one, is not answered by it.
 */
export async function getOpenSession(
  reach: Pick<Reach, 'client' | 'readings'>,
  login: Login,
  call: CallContext,
): Promise<Session> {
  const { body } = await reach.readings.get({
    name: 'session',
    login,
    maxAgeMs: sessionLifeMs,
    call,
    read: async (own) => Buffer.from(JSON.stringify(await readOrEnded(reach, login, own))),
  })
  return demandOpen(readBody(Kept, body))
}

function demandOpen(found: Session | Ended): Session {
  if (typeof found === 'string') throw ended(found)
  return found
}

/** A session that was opened elsewhere and adopted. */
export const leavesConsent = (login: Login): boolean => login.isOurs !== true

/** The consent is ended at the bank, where it was given through this installation or that was asked for. */
export async function revoke(
  reach: Reach,
  login: Login,
  { isAsked }: RevokeOptions,
  call: CallContext,
): Promise<void> {
  const session = readSecret(login)?.session ?? null
  if (session === null || (leavesConsent(login) && !isAsked)) return
  await endSession(reach, applicationOf(reach, login), session.id, call)
}

/** A session that was opened through this installation; one that has run out needs no call. */
export async function endLogin(reach: Reach, login: Login, call: CallContext): Promise<void> {
  const session = readSecret(login)?.session ?? null
  if (session === null || leavesConsent(login)) return
  const { validUntil } = session
  if (validUntil !== null && Date.parse(validUntil) < reach.clock.now()) return
  await endSession(reach, applicationOf(reach, login), session.id, call)
}

/** May be repeated: a session that has ended already is no failure. */
async function endSession(
  { client }: Pick<Reach, 'client'>,
  application: Application,
  id: string,
  call: CallContext,
): Promise<void> {
  const target = `/sessions/${encodeURIComponent(id)}`
  try {
    await client.send(application, { method: 'DELETE', route: '/sessions/{id}', target }, call)
  } catch (error) {
    if (error instanceof RefusedError && error.failure.kind === 'consent_lost') return
    throw error
  }
}
