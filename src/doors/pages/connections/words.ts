/**
 * The states of a connection and the results of its syncs in plain words, with what to do. Every switch is
 * complete: a new status or code does not compile without its sentence. Pure.
 */
import type { ConnectionStatus } from '#contract/resources.ts'
import { unreachable } from '#kernel/unreachable.ts'
import { factsOf } from '#providers/all-facts.ts'
import type { ConnectionRow } from '#store/ports/connections.ts'
import type { SyncRunRow } from '#store/ports/syncs.ts'
import { parseFailureCode, type SyncFailureCode } from '#syncs/failure.ts'

export interface StatusWords {
  readonly name: string
  readonly sentence: string
  /** The owner has to do something. */
  readonly isBroken: boolean
}

type Described = Pick<ConnectionRow, 'provider'> & { readonly status: ConnectionStatus }

export function describeStatus({ status, provider }: Described): StatusWords {
  const { name, secondFactor, whenInvalidated } = factsOf(provider)
  switch (status) {
    case 'active':
      return { name: 'Working', sentence: 'Your consent is active.', isBroken: false }
    case 'invalidated':
      if (whenInvalidated !== undefined) {
        return { name: 'Refused', sentence: whenInvalidated, isBroken: true }
      }
      return {
        name: 'Expired',
        sentence: `The consent or the sign-in has expired, so ${name} gives no new data. Reconnect it to go on; your programs keep the same ids.`,
        isBroken: true,
      }
    case 'pending_mfa':
      return {
        name: 'Code needed',
        sentence: `The institution waits for a second factor. ${secondFactor}`,
        isBroken: true,
      }
    case 'revoked':
      return {
        name: 'Consent withdrawn',
        sentence: `The consent was withdrawn at the institution or at ${name}. Reconnect it to give a new one, or remove the connection.`,
        isBroken: true,
      }
    default:
      return unreachable(status)
  }
}

/** Why a sync failed, and what to do. The code may have been stored by another version. */
export function describeSyncFailure(stored: string, provider: ConnectionRow['provider']): string {
  const code = parseFailureCode(stored)
  return code === null
    ? 'The sync failed. It is tried again by itself.'
    : code === 'consent_lost'
      ? (factsOf(provider).whenInvalidated ?? toSentence(code, factsOf(provider).name))
      : toSentence(code, factsOf(provider).name)
}

function toSentence(code: SyncFailureCode, provider: string): string {
  switch (code) {
    case 'consent_lost':
      return 'The consent is no longer valid. Reconnect the connection.'
    case 'rejected':
      return `${provider} refused the request. It is tried again by itself; if it goes on, reconnect the connection.`
    case 'account_gone':
      return 'An account was moved or closed at the institution. The next sync reads the new list.'
    case 'unavailable':
      return `${provider} or the institution did not answer. It is tried again by itself.`
    case 'throttled':
      return `${provider} asked us to wait. It is tried again by itself.`
    case 'unreadable':
      return `${provider} sent data that could not be read. It is tried again by itself; if it goes on, tell the operator of this server.`
    case 'misconfigured':
      return `${provider} refuses this server. Only the operator can fix this; they have been notified.`
    case 'preparing':
      return `${provider} is still collecting the data. It is tried again by itself.`
    case 'not_configured':
      return `${provider} is not set up on this server. Only the operator can fix this.`
    case 'too_many':
      return `With the accounts that ${provider} lists now you would have more than 5,000, so nothing of them was taken. Remove a connection.`
    case 'too_large':
      return 'There were more new rows than one sync reports. Tell the operator of this server.'
    case 'too_long':
      return 'It took too long and was ended. It is tried again by itself.'
    case 'ledger_unreadable':
      return 'What earlier syncs remembered cannot be read. Tell the operator of this server.'
    case 'interrupted':
      return 'It was interrupted. It is tried again by itself.'
    case 'store_unavailable':
      return 'The database of this server was unavailable. It is tried again by itself.'
    case 'internal':
      return 'It failed because of a mistake of this server, which was logged. It is tried again by itself.'
    default:
      return unreachable(code)
  }
}

export function describeReason(reason: SyncRunRow['reason']): string {
  switch (reason) {
    case 'schedule':
      return 'it was due'
    case 'operator':
      return 'on request'
    case 'provider':
      return 'the provider reported a change'
    case 'linked':
      return 'after linking'
    default:
      return unreachable(reason)
  }
}

/** The result of a run, one sentence. */
export function describeRun(run: SyncRunRow, provider: ConnectionRow['provider']): string {
  switch (run.state) {
    case 'running':
      return 'In progress.'
    case 'succeeded':
      return run.chunks === 0
        ? 'Done: consent and accounts checked.'
        : `Done: ${count(run.newCount)} new, ${run.updatedCount} changed.`
    case 'failed':
      return describeSyncFailure(run.failure?.code ?? '', provider)
    case 'abandoned':
      return 'It was interrupted and begun again.'
    default:
      return unreachable(run.state)
  }
}

const count = (rows: number) => (rows === 1 ? '1 row' : `${rows} rows`)
