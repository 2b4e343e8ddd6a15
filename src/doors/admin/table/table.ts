/**
 * The one table of the admin API: every call by its name, in the order of the page and of the commands. A
 * call that is added here needs a handler, or the door does not compile; its command, its documents and its
 * checks follow.
 */
import type { AdminCall } from './call.ts'
import { connectionCalls } from './connections.ts'
import { consumerCalls } from './consumers.ts'
import { keyCalls } from './keys.ts'
import { ownRowCalls } from './own-rows.ts'
import { programCalls } from './programs.ts'
import { auditCalls, serviceCalls } from './service.ts'
import { invitationCalls, userCalls } from './users.ts'
import { webhookCalls } from './webhooks.ts'

export const adminCalls = {
  ...userCalls,
  ...invitationCalls,
  ...keyCalls,
  ...programCalls,
  ...connectionCalls,
  ...webhookCalls,
  ...consumerCalls,
  ...auditCalls,
  ...ownRowCalls,
  ...serviceCalls,
}

export type AdminCalls = typeof adminCalls
export type AdminCallName = keyof AdminCalls
type Rows = readonly (readonly [AdminCallName, AdminCall])[]

const toRows = (calls: Partial<AdminCalls>) => Object.entries(calls) as Rows

export const adminCallList = toRows(adminCalls)

/** The chapters of the document and of the page, in their order. */
export const adminChapters = [
  {
    title: 'Users and plans',
    about: 'Who has access to this installation, and what their plan allows.',
    rows: toRows({ ...userCalls, ...invitationCalls }),
  },
  {
    title: 'API keys',
    about: 'Keys of a user for the REST API and for agents.',
    rows: toRows(keyCalls),
  },
  {
    title: 'SimpleFIN',
    about: 'Programs of a user that read SimpleFIN, by setup tokens.',
    rows: toRows(programCalls),
  },
  {
    title: 'Connections',
    about: 'What a user has linked at providers.',
    rows: toRows(connectionCalls),
  },
  {
    title: 'Webhooks',
    about: 'Endpoints that events are sent to, and their deliveries.',
    rows: toRows(webhookCalls),
  },
  {
    title: 'Fetched events',
    about: 'Who fetches the events of a user instead of being sent them.',
    rows: toRows(consumerCalls),
  },
  { title: 'Audit', about: 'Who changed what.', rows: toRows(auditCalls) },
  {
    title: 'What a person sees',
    about: 'The rows of the pages, for operators.',
    rows: toRows(ownRowCalls),
  },
  { title: 'Service', about: 'The state of this installation.', rows: toRows(serviceCalls) },
] as const
