/**
 * Columns that hold one word of a list, as text. A word that is not in the list, after a hand in the database
 * or a newer version, is read as another, so that its row does not hide others; the doctor names it.
 */
import { type RawBuilder, sql } from 'kysely'
import type { StoredStatus } from '../ports/connections.ts'
import type { EndpointHealth } from '../ports/endpoints.ts'

/** The words of each column; the last one is what any other word is read as. */
export const knownWords = {
  connections: {
    status: ['active', 'pending_mfa', 'revoked', 'deleting', 'invalidated'],
  },
  webhook_endpoints: { health: ['healthy', 'degraded', 'paused', 'disabled'] },
} as const satisfies {
  readonly connections: { readonly status: readonly StoredStatus[] }
  readonly webhook_endpoints: { readonly health: readonly EndpointHealth[] }
}

export const knownStatus = () => readKnown<StoredStatus>('status', knownWords.connections.status)
export const knownHealth = () =>
  readKnown<EndpointHealth>('health', knownWords.webhook_endpoints.health)

function readKnown<Word extends string>(column: string, words: readonly Word[]): RawBuilder<Word> {
  const known = sql.join(words.map((word) => sql.lit(word)))
  const otherwise = sql.lit(words.at(-1))
  const name = sql.ref(column)
  return sql<Word>`case when ${name} in (${known}) then ${name} else ${otherwise} end`
}
