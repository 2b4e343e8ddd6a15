/**
 * Looks up access tokens for the agents' door: one indexed read, nothing cached, so that a revoked token is
 * refused at its next use on every process (reading R27).
 */
import { z } from 'zod'
import { parseUuid, type UserId } from '#kernel/ids.ts'
import type { Clock } from '#kernel/time.ts'
import type { OAuthStore } from '#store/ports/oauth.ts'
import { isScope } from '../scopes.ts'
import { findChosenConnections, toConnectionIds } from './chosen-connections.ts'
import { openRow } from './open-row.ts'
import type { TokenReader } from './port.ts'
import { toRowId } from './row-id.ts'

/** The parts of the engine's token payload that we rely on. */
const Written = z.object({
  kind: z.literal('AccessToken'),
  accountId: z.string(),
  clientId: z.string(),
  grantId: z.string(),
  aud: z.string(),
  scope: z.string(),
  /** Absent in tokens of earlier versions. */
  extra: z.object({ connections: z.array(z.string()).nullable() }).optional(),
})

/** The engine's tokens are 43 characters of this alphabet; anything else is refused without a lookup. */
const shape = /^[\w-]{43}$/

export interface TokensOptions {
  readonly store: OAuthStore
  readonly clock: Clock
  /** The only audience that is accepted. */
  readonly resource: () => string
  /** A row does not open; its token is refused. */
  readonly onDamaged: (error: Error) => void
}

export function makeTokenReader(options: TokensOptions): TokenReader {
  const { store, clock, resource, onDamaged } = options

  async function connectionsOf({ extra, grantId }: z.infer<typeof Written>) {
    if (extra === undefined) return findChosenConnections(options, grantId)
    return extra.connections && toConnectionIds(extra.connections)
  }

  return {
    noteUse: ({ grantId }, at) => store.touchGrant(toRowId('Grant', grantId), at),
    async find(token) {
      if (!shape.test(token)) return null
      const id = toRowId('AccessToken', token)
      const row = await openRow(() => store.find('AccessToken', id), onDamaged)
      if (row === null || row.expiresAt <= clock.now()) return null
      const written = Written.safeParse(JSON.parse(row.payload)).data
      if (written === undefined || written.aud !== resource()) return null
      const userId = parseUuid<UserId>(written.accountId)
      if (userId === null) return null
      const connections = await connectionsOf(written)
      if (connections === undefined) return null
      return {
        userId,
        clientId: written.clientId,
        grantId: written.grantId,
        scopes: written.scope.split(' ').filter(isScope),
        connections,
        expiresAt: row.expiresAt,
      }
    },
  }
}
