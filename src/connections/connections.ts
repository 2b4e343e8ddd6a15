/**
 * Assembles the actions of this room: how people's consents at providers become connections, stay up to date
 * and are removed. Doors and background work use only these actions.
 */
import { makeQueue } from '#kernel/queue.ts'
import { makeCheckConnection } from './check-connection.ts'
import { makeLateWork } from './late-work.ts'
import { makeConnectByKey } from './linking/connect-by-key.ts'
import { makeFinishLinking } from './linking/finish-linking.ts'
import { makeLinkConnections } from './linking/link-connections.ts'
import { makeListByCountry } from './linking/list-by-country.ts'
import { makeListInstitutions } from './linking/list-institutions.ts'
import { listWays } from './linking/list-ways.ts'
import { makeResumeLinking } from './linking/resume-linking.ts'
import { makeStartLinking } from './linking/start-linking.ts'
import { makeListUnusedKeys } from './linking/unused-keys.ts'
import { makeNoteChange } from './note-change.ts'
import type { ConnectionsOptions } from './options.ts'
import { makeReceiveWebhook } from './receive-webhook.ts'
import { makeRefreshConnection } from './refresh-connection.ts'
import { makeDeleteUser } from './removal/delete-user.ts'
import { makeFinishDeletions } from './removal/finish-deletions.ts'
import { makeFindRemovalEffect } from './removal/removal-effect.ts'
import { makeRemoveConnection } from './removal/remove-connection.ts'
import { makeRenewals } from './renewal.ts'
import { makeSetLabel } from './set-label.ts'

export type { LinkingWay } from './linking/list-ways.ts'
export type { ConnectionsOptions, ConnectionsReport } from './options.ts'
export { makeDeletionSweep } from './removal/finish-deletions.ts'

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
