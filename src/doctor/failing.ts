/**
 * Active connections that cannot be read: whose last sync failed, or whose last read in this process did. The
 * store has the code and the time; the provider's sentence is in the memory of the process that called it.
 */
import { type Clock, dayMs, toIso } from '#kernel/time.ts'
import { ownCredentialsOf } from '#providers/all-facts.ts'
import type { LoginAccess } from '#providers/credentials.ts'
import type { RecentFailure, RecentFailures } from '#providers/recent-failures.ts'
import type { FailingConnection } from '#store/ports/inspector.ts'
import { type Finding, warning } from './finding.ts'
import { describeLogin, type LoginOptions } from './logins.ts'

export interface FailingOptions extends LoginOptions {
  readonly clock: Clock
  readonly failures: { readonly reads: RecentFailures; readonly syncs: RecentFailures }
}

/** A read that failed earlier says little about the next one. */
const recentMs = dayMs
const maxNamed = 50

/** One finding for each connection, and one for those that are not named. */
export async function findFailing(options: FailingOptions): Promise<readonly Finding[]> {
  const { store, clock, failures } = options
  const also = failures.reads.list(clock.now() - recentMs).slice(0, maxNamed)
  const failing = await store.inspector.listFailing({ also, limit: maxNamed + 1 })
  const findings = failing.slice(0, maxNamed).map(async (connection) => {
    const login = { ...connection, id: connection.loginId }
    return describe(options, connection, await describeLogin(options, login))
  })
  const more = 'more active connections cannot be read'
  return [
    ...(await Promise.all(findings)),
    ...(failing.length > maxNamed
      ? [warning('connections:failing', more, 'Resolve these first')]
      : []),
  ]
}

function describe(
  { failures }: FailingOptions,
  connection: FailingConnection,
  access: LoginAccess,
): Finding {
  const { id, email, provider, institutionName, syncs } = connection
  const note = (syncs === null ? null : failures.syncs.find(id)) ?? failures.reads.find(id)
  const code = syncs === null ? toCode(note) : (syncs.failure?.code ?? 'unknown')
  const when =
    syncs === null
      ? `its last read failed at ${toIso(note?.at ?? 0)}`
      : `every sync failed since ${syncs.since === null ? 'before the oldest run that is kept' : toIso(syncs.since)}`
  const sentence = note?.detail ?? syncs?.failure?.message ?? 'the log says more'
  return warning(
    `connection:${id}`,
    `${institutionName} (${provider}) of ${email}: ${when} (${code}): ${sentence}`,
    adviseOn(code, connection, access, note),
  )
}

/** As syncs name it (docs/operations/incidents.md, Failed syncs). */
function toCode(note: RecentFailure | null): string {
  return note?.kind === 'malformed' ? 'unreadable' : (note?.kind ?? 'unknown')
}

/** Codes of other versions are stored too, so that the switch has a default. */
function adviseOn(
  code: string,
  { id, loginId, provider }: FailingConnection,
  access: LoginAccess,
  note: RecentFailure | null,
): string {
  const again = `\`tributary sync run ${id}\` tries at once`
  const wait = `Nothing at first: it is tried again by itself; ${again}`
  switch (code) {
    case 'rejected':
      return `${access.whenRefused}; then ${again}`
    case 'consent_lost':
      return access.renewal
    case 'misconfigured':
    case 'not_configured':
      return access.obstacle === null
        ? `Compare ${ownCredentialsOf(provider)} with the provider’s console; after a restart ${again}`
        : `Look at the finding login:${loginId}; after a restart ${again}`
    case 'throttled':
      return note?.until === undefined
        ? 'Nothing: it is tried again by itself once the provider allows it'
        : `Nothing: it is tried again by itself; the provider allows the next call at ${toIso(note.until)}`
    case 'unavailable':
      return note?.isAnswering === true
        ? 'Raise REQUEST_TIMEOUT_MS, or ask for less at once: one account, fewer days (`from`, `to`)'
        : wait
    case 'preparing':
    case 'account_gone':
    case 'interrupted':
    case 'store_unavailable':
      return wait
    case 'unreadable':
      return 'Where the message names a proxy, look at that; else report it with the message, which holds no data (docs/operations/incidents.md, Failed syncs)'
    default:
      return 'Look up the code in docs/operations/incidents.md, Failed syncs; the log line `sync run` of this connection says more'
  }
}
