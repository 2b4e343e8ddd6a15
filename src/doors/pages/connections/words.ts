/**
 * The states of a connection and the results of its syncs in plain words, with what to do. A new status or
 * code does not compile without its sentence. Pure.
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
  if (code === null) return `The sync failed. ${again}.`
  const { name, whenInvalidated } = factsOf(provider)
  return (code === 'consent_lost' && whenInvalidated) || sentences[code](name)
}

const again = 'It is tried again by itself'

const sentences: Readonly<Record<SyncFailureCode, (provider: string) => string>> = {
  consent_lost: () => 'The consent is no longer valid. Reconnect the connection.',
  rejected: (provider) =>
    `${provider} refused the request. ${again}; if it goes on, reconnect the connection.`,
  account_gone: () =>
    'An account was moved or closed at the institution. The next sync reads the new list.',
  unavailable: (provider) => `${provider} or the institution did not answer. ${again}.`,
  throttled: (provider) => `${provider} asked us to wait. ${again}.`,
  unreadable: (provider) =>
    `${provider} sent data that could not be read. ${again}; if it goes on, tell the operator of this server.`,
  misconfigured: (provider) =>
    `${provider} refuses this server. Only the operator can fix this; they have been notified.`,
  preparing: (provider) => `${provider} is still collecting the data. ${again}.`,
  not_configured: (provider) =>
    `${provider} is not set up on this server. Only the operator can fix this.`,
  too_many: (provider) =>
    `With the accounts that ${provider} lists now you would have more than 5,000, so nothing of them was taken. Remove a connection.`,
  too_large: () =>
    'There were more new rows than one sync reports. Tell the operator of this server.',
  too_long: () => `It took too long and was ended. ${again}.`,
  ledger_unreadable: () =>
    'What earlier syncs remembered cannot be read. Tell the operator of this server.',
  interrupted: () => `It was interrupted. ${again}.`,
  store_unavailable: () => `The database of this server was unavailable. ${again}.`,
  internal: () => `It failed because of a mistake of this server, which was logged. ${again}.`,
}

const reasons: Readonly<Record<SyncRunRow['reason'], string>> = {
  schedule: 'it was due',
  operator: 'on request',
  provider: 'the provider reported a change',
  linked: 'after linking',
}

export const describeReason = (reason: SyncRunRow['reason']): string => reasons[reason]

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
