/**
 * What the checks share: the client, the clock, and what the key's person has. Each piece is read when a
 * check needs it, and kept; a check that needs what the person does not have is skipped with the reason.
 */
import type { ConnectionCategory } from '#contract/resources.ts'
import { dayMs } from '#kernel/time.ts'
import { type CheckGroup, type ConformanceCheck, skip } from './check.ts'
import type { Client } from './client.ts'
import { errorOf, rowsOf, type ServerAnswer } from './exchange.ts'

export type ServerCheck = ConformanceCheck<CheckSession>
export type ServerChecks = CheckGroup<CheckSession>

export interface ReadTarget {
  readonly connectionId: string
  readonly accountId: string
}

export interface CheckSession {
  readonly client: Client
  readonly now: () => number
  /** Connections, of one category or all. */
  connections(category?: ConnectionCategory): Promise<readonly Row[]>
  /** All accounts of the first page, up to 200. */
  accounts(): Promise<readonly Row[]>
  accountIds(category: ConnectionCategory): Promise<readonly string[]>
  /** A connection of this category. @throws Skipped when there is none. */
  connectionOf(category: ConnectionCategory): Promise<string>
  /** An account of a bank whose rows can be read, and has some if any has. @throws Skipped */
  bankAccount(): Promise<ReadTarget>
  /** A connection to a broker whose holdings this key may read. @throws Skipped */
  brokerage(): Promise<string>
}

type Row = Readonly<Record<string, unknown>>

/** No connection and no account has this id. */
export const nobodysId = '00000000-0000-4000-8000-000000000000'

export const firstPage = '/v1/accounts?limit=200'
export const holdingsPath = (connectionId: string) => `/v1/holdings?connectionId=${connectionId}`

/** A year back, as a plain day: long enough for a walk, and the same in every check. */
export function yearBefore(now: number): string {
  return new Date(now - 365 * dayMs).toISOString().slice(0, 10)
}

/** The rows of a year in one window. */
export function rowsPath({ connectionId, accountId }: ReadTarget, now: number): string {
  const end = new Date(now - (now % dayMs)).toISOString().replace('.000', '')
  return `/v1/transactions?connectionId=${connectionId}&accountId=${accountId}&from=${yearBefore(now)}&to=${end}`
}

const maxCandidates = 4

export function makeSession(client: Client, now: () => number): CheckSession {
  // One instant for the whole run, so that a path is the same whenever it is made.
  const startedAt = now()
  let place: Promise<ReadTarget> | null = null
  const session: CheckSession = {
    client,
    now: () => startedAt,
    async connections(category) {
      const rows = rowsOf(await client.once('/v1/connections'))
      return rows.filter((row) => category === undefined || row.category === category)
    },
    accounts: async () => rowsOf(await client.once(firstPage)),
    async accountIds(category) {
      const rows = await session.connections(category)
      const connections = new Set(rows.map(({ id }) => id))
      const accounts = await session.accounts()
      return accounts.filter((row) => connections.has(row.connectionId)).map(({ id }) => String(id))
    },
    async connectionOf(category) {
      const rows = await session.connections(category)
      const found = rows.find(({ status }) => status === 'active') ?? rows[0]
      return found === undefined ? skip(`no ${category} connection`) : String(found.id)
    },
    bankAccount() {
      place ??= findBankAccount(session)
      return place
    },
    async brokerage() {
      const id = await session.connectionOf('brokerage')
      const answer = await client.once(holdingsPath(id))
      if (answer.status === 200) return id
      return skip(reasonOf(answer))
    },
  }
  return session
}

async function findBankAccount(session: CheckSession): Promise<ReadTarget> {
  const [accounts, connections] = [await session.accounts(), await session.connections('banking')]
  const active = new Set(
    connections.filter(({ status }) => status === 'active').map(({ id }) => id),
  )
  const candidates = accounts.filter((row) => active.has(row.connectionId)).slice(0, maxCandidates)
  let readable: ReadTarget | null = null
  let reason = 'no account on an active banking connection'
  for (const { id, connectionId } of candidates) {
    const found = { connectionId: String(connectionId), accountId: String(id) }
    const answer = await session.client.once(`${rowsPath(found, session.now())}&limit=500`)
    if (answer.status !== 200) reason = reasonOf(answer)
    // Enough for several windows.
    if (rowsOf(answer).length >= 8) return found
    if (answer.status === 200 && (readable === null || rowsOf(answer).length > 0)) readable = found
  }
  return readable ?? skip(reason)
}

function reasonOf(answer: ServerAnswer): string {
  const { code, message } = errorOf(answer)
  if (code === 'professional_required') return 'the plan has no access to brokers'
  return `the server answers ${answer.status}: ${String(message)}`
}
