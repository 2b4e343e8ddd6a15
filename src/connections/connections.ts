/**
 * Assembles the actions of this room: how people's consents at providers become connections, stay up to date
 * and are removed. Doors and background work use only these actions.
 */

import { makeQueue } from '#kernel/queue.ts'
import { type CheckConnection, makeCheckConnection } from './check-connection.ts'
import { type ConnectByKey, makeConnectByKey } from './connect-by-key.ts'
import { type DeleteUser, makeDeleteUser } from './delete-user.ts'
import type { ConnectionsDeps } from './deps.ts'
import { type FinishDeletions, makeFinishDeletions } from './finish-deletions.ts'
import { type FinishLinking, makeFinishLinking } from './finish-linking.ts'
import { makeLateWork } from './late-work.ts'
import { type LinkConnections, makeLinkConnections } from './link-connections.ts'
import { type ListInstitutions, makeListInstitutions } from './list-institutions.ts'
import { type LinkingWay, listWays } from './list-ways.ts'
import { makeNoteChange, type NoteChange } from './note-change.ts'
import { makeReceiveWebhook, type ReceiveWebhook } from './receive-webhook.ts'
import { makeRefreshConnection, type RefreshConnection } from './refresh-connection.ts'
import { makeRemoveConnection, type RemoveConnection } from './remove-connection.ts'

import { makeRenewals, type Renewals } from './renewal.ts'

import { makeResumeLinking, type ResumeLinking } from './resume-linking.ts'
import { makeStartLinking, type StartLinking } from './start-linking.ts'

export type { ConnectionsDeps, ConnectionsReport } from './deps.ts'
export { makeDeletionSweep } from './finish-deletions.ts'
export type { LinkingWay } from './list-ways.ts'

export interface Connections {
  readonly linkConnections: LinkConnections
  readonly connectByKey: ConnectByKey
  /** How people can link here; it is fixed while the process runs. */
  readonly linkingWays: readonly LinkingWay[]
  readonly listInstitutions: ListInstitutions
  readonly startLinking: StartLinking
  readonly finishLinking: FinishLinking
  readonly resumeLinking: ResumeLinking
  readonly refreshConnection: RefreshConnection
  readonly removeConnection: RemoveConnection
  readonly checkConnection: CheckConnection
  readonly renewals: Renewals
  readonly deleteUser: DeleteUser
  readonly noteChange: NoteChange
  readonly finishDeletions: FinishDeletions
  readonly receiveWebhook: ReceiveWebhook
  /** Waits so long for what people began, then aborts its calls to providers; resolves when it has ended. */
  close(graceMs: number): Promise<void>
}

/** Assembles the actions. */
export function makeConnections(deps: ConnectionsDeps): Connections {
  const late = makeLateWork(deps.report)
  const actions = { ...deps, queue: makeQueue(), late }
  const deleteUser = makeDeleteUser(actions)
  const listInstitutions = makeListInstitutions(actions)
  const refreshConnection = makeRefreshConnection(actions)
  return {
    linkConnections: makeLinkConnections(actions),
    connectByKey: makeConnectByKey(actions),
    linkingWays: listWays(deps.adapters),
    listInstitutions,
    startLinking: makeStartLinking(actions, listInstitutions),
    finishLinking: makeFinishLinking(actions),
    resumeLinking: makeResumeLinking(actions),
    refreshConnection,
    checkConnection: makeCheckConnection(actions, refreshConnection),
    renewals: makeRenewals(actions),
    removeConnection: makeRemoveConnection(actions),
    deleteUser,
    noteChange: makeNoteChange(actions),
    finishDeletions: makeFinishDeletions(actions, deleteUser),
    receiveWebhook: makeReceiveWebhook(actions),
    close: late.close,
  }
}
