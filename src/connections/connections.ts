/**
 * Assembles the actions of this room: how people's consents at providers become connections, stay up to date
 * and are removed. Doors and background work use only these actions.
 */
import { makeQueue } from '#kernel/queue.ts'
import { makeCheckConnection } from './check-connection.ts'
import { makeConnectByKey } from './connect-by-key.ts'
import { makeDeleteUser } from './delete-user.ts'
import { makeFinishDeletions } from './finish-deletions.ts'
import { makeFinishLinking } from './finish-linking.ts'
import { makeLateWork } from './late-work.ts'
import { makeLinkConnections } from './link-connections.ts'
import { makeListByCountry } from './list-by-country.ts'
import { makeListInstitutions } from './list-institutions.ts'
import { listWays } from './list-ways.ts'
import { makeNoteChange } from './note-change.ts'
import type { ConnectionsOptions } from './options.ts'
import { makeReceiveWebhook } from './receive-webhook.ts'
import { makeRefreshConnection } from './refresh-connection.ts'
import { makeFindRemovalEffect } from './removal-effect.ts'
import { makeRemoveConnection } from './remove-connection.ts'
import { makeRenewals } from './renewal.ts'
import { makeResumeLinking } from './resume-linking.ts'
import { makeSetLabel } from './set-label.ts'
import { makeStartLinking } from './start-linking.ts'
import { makeListUnusedKeys } from './unused-keys.ts'

export { makeDeletionSweep } from './finish-deletions.ts'
export type { LinkingWay } from './list-ways.ts'
export type { ConnectionsOptions, ConnectionsReport } from './options.ts'

/** What each action does stands in its file. */
export type Connections = ReturnType<typeof makeConnections>

export function makeConnections(options: ConnectionsOptions) {
  const late = makeLateWork(options.report)
  const actions = { ...options, queue: makeQueue(), late }
  const deleteUser = makeDeleteUser(actions)
  const listInstitutions = makeListInstitutions(actions)
  const renewals = makeRenewals(actions)
  const refreshConnection = makeRefreshConnection(actions)
  return {
    linkConnections: makeLinkConnections(actions),
    connectByKey: makeConnectByKey(actions),
    /** How people can link here; it is fixed while the process runs. */
    linkingWays: listWays(options.adapters),
    listInstitutions,
    listByCountry: makeListByCountry(actions),
    listUnusedKeys: makeListUnusedKeys(actions),
    startLinking: makeStartLinking(actions, listInstitutions),
    finishLinking: makeFinishLinking(actions),
    resumeLinking: makeResumeLinking(actions),
    refreshConnection,
    checkConnection: makeCheckConnection(actions, refreshConnection),
    renewals,
    findRemovalEffect: makeFindRemovalEffect(actions, renewals),
    removeConnection: makeRemoveConnection(actions),
    setLabel: makeSetLabel(actions),
    deleteUser,
    noteChange: makeNoteChange(actions),
    finishDeletions: makeFinishDeletions(actions, deleteUser),
    receiveWebhook: makeReceiveWebhook(actions),
    /** Waits so long for what people began, then aborts its calls to providers. */
    close: late.close,
  }
}
