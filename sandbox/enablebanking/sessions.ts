/**
 * Authorisations and sessions of the Enable Banking emulator. Ids of accounts are those of one session; a
 * code works once and for a short time.
 */
import { randomUUID } from 'node:crypto'
import type { Clock } from '#kernel/time.ts'
import { type BankPerson, toUuid } from './people.ts'

export interface Authorisation {
  readonly applicationId: string
  readonly bank: BankPerson['bank']
  readonly state: string
  readonly redirectUrl: string
  /** Milliseconds since the epoch. */
  readonly validUntil: number
  /** The person's headers were sent. */
  readonly hasPerson: boolean
  /** The hash of the application's id for its person; null: it gave none. */
  readonly psuIdHash: string | null
}

export interface BankSession {
  readonly id: string
  readonly applicationId: string
  readonly person: BankPerson
  /** Milliseconds since the epoch. */
  readonly authorisedAt: number
  readonly validUntil: number
  readonly psuIdHash?: string | null
  status: string
}

export interface Sessions {
  readonly authorisations: Map<string, Authorisation>
  readonly sessions: Map<string, BankSession>
  authorise(authorisation: Authorisation): string
  issueCode(person: BankPerson, authorisation: Authorisation, lifeMs?: number): string
  /** A session, or the error of the exchange. */
  exchange(applicationId: string, code: string): BankSession | string
}

const codeLifeMs = 10 * 60_000

/** The id of an account in a session. */
export const toUid = (session: Pick<BankSession, 'id'>, hash: string): string =>
  toUuid(`${session.id} ${hash}`)

export function makeSessions(clock: Clock): Sessions {
  const authorisations = new Map<string, Authorisation>()
  const sessions = new Map<string, BankSession>()
  const codes = new Map<
    string,
    { person: BankPerson; authorisation: Authorisation; until: number; isUsed: boolean }
  >()
  return {
    authorisations,
    sessions,
    authorise(authorisation) {
      const id = randomUUID()
      authorisations.set(id, authorisation)
      return id
    },
    issueCode(person, authorisation, lifeMs = codeLifeMs) {
      const code = randomUUID()
      codes.set(code, { person, authorisation, until: clock.now() + lifeMs, isUsed: false })
      return code
    },
    exchange(applicationId, code) {
      const found = codes.get(code)
      if (found === undefined || found.authorisation.applicationId !== applicationId)
        return 'WRONG_AUTHORIZATION_CODE'
      if (found.isUsed) return 'ALREADY_AUTHORIZED'
      if (found.until <= clock.now()) return 'EXPIRED_AUTHORIZATION_CODE'
      found.isUsed = true
      const readable = found.person.accounts.filter(({ isHidden }) => isHidden !== true)
      if (readable.length === 0) return 'NO_ACCOUNTS_ADDED'
      delete found.person.ended
      const session: BankSession = {
        id: randomUUID(),
        applicationId,
        person: found.person,
        authorisedAt: clock.now(),
        validUntil: found.authorisation.validUntil,
        psuIdHash: found.authorisation.psuIdHash,
        status: 'AUTHORIZED',
      }
      sessions.set(session.id, session)
      return session
    },
  }
}
