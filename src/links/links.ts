/**
 * The room of links, put together: how consents of people at providers become connections of ours, stay up to date and
 * are forgotten. Doors and the background work call these five actions and nothing else of the room.
 */

import { type DeleteUser, makeDeleteUser } from './delete-user.ts'
import type { LinksDeps } from './deps.ts'
import { type FinishDeletions, makeFinishDeletions } from './finish-deletions.ts'
import { type LinkConnections, makeLinkConnections } from './link-connections.ts'
import { makeRefreshConnection, type RefreshConnection } from './refresh-connection.ts'
import { makeRemoveConnection, type RemoveConnection } from './remove-connection.ts'
import { makeTurns } from './turns.ts'

export type { LinksDeps, LinksReport } from './deps.ts'
export { startDeletionSweep } from './finish-deletions.ts'

export interface Links {
  readonly linkConnections: LinkConnections
  readonly refreshConnection: RefreshConnection
  readonly removeConnection: RemoveConnection
  readonly deleteUser: DeleteUser
  readonly finishDeletions: FinishDeletions
}

/** Assembles the actions. */
export function makeLinks(deps: LinksDeps): Links {
  const actions = { ...deps, turns: makeTurns() }
  return {
    linkConnections: makeLinkConnections(actions),
    refreshConnection: makeRefreshConnection(actions),
    removeConnection: makeRemoveConnection(actions),
    deleteUser: makeDeleteUser(actions),
    finishDeletions: makeFinishDeletions(actions),
  }
}
