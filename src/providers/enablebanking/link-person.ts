/**
 * Whether a return belongs to the link that it came back to. A code in the address may have been issued to
 * another person, or for a bank that was not chosen: with it somebody could put their accounts, or those of
 * a third, under this person. The provider tells both, and what it leaves out is not judged.
 */
import { hash } from 'node:crypto'
import type { LoginId } from '#kernel/ids.ts'
import { hourMs } from '#kernel/time.ts'
import type { ReturnRequest } from '../linking.ts'
import type { CallContext } from '../port.ts'
import type { Application } from './application.ts'
import { type Reach, readSession } from './consent.ts'
import type { NewSession } from './wire.ts'

export type Begun = NonNullable<ReturnRequest['begun']>

/** Kept with readings, as long as a link lives; where fast state lost it, the return is not judged by it. */
function namePerson({ state, userId }: Pick<Begun, 'state' | 'userId'>) {
  const id = hash('sha256', state) as LoginId
  return { name: 'person', login: { id, version: 0, userId, secret: state }, maxAgeMs: hourMs }
}

/** @param told `psu_id_hash` of the authorisation. */
export async function keepAsked(
  { readings }: Pick<Reach, 'readings'>,
  begun: Pick<Begun, 'state' | 'userId'>,
  told: string,
): Promise<void> {
  await readings.keep(namePerson(begun), Buffer.from(told))
}

/** What is not as it was asked; null: everything is, as far as the provider tells. */
export async function findStrange(
  reach: Pick<Reach, 'client' | 'readings'>,
  { application, opened, begun }: Returned,
  call: CallContext,
): Promise<'other_bank' | 'other_person' | null> {
  const { country, name } = opened.aspsp
  const { institutionId } = begun
  if (institutionId !== null && !isSame(institutionId, `${country}:${name}`)) return 'other_bank'
  const kept = await reach.readings.peek(namePerson(begun))
  if (kept === null) return null
  const { psu_id_hash: theirs } = await readSession(reach, application, opened.session_id, call)
  return theirs && theirs !== Buffer.from(kept.body).toString('utf8') ? 'other_person' : null
}

export interface Returned {
  readonly application: Application
  readonly opened: NewSession
  readonly begun: Begun
}

// unconfirmed: whether a session names its bank in the letters of the list.
const isSame = (one: string, other: string): boolean => one.toLowerCase() === other.toLowerCase()
