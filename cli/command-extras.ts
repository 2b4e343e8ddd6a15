/**
 * What a command says beside its row in the table of the admin API: how the answer is shown to a person,
 * where a record, a table of every column or "Done." would not do, and what its words need on the command
 * line.
 */
import type { Provider } from '#contract/resources.ts'
import type { AdminCallName } from '#doors/admin/table/table.ts'
import { describeBudget } from '#providers/budget-words.ts'
import type { ProviderStanding } from '#usage/provider-states.ts'
import type { UsageResults } from '#usage/report.ts'
import type { Command, Derive, Show } from './command.ts'

/** What the table does not say of a command; `show` absent: by the shape of the reply. */
export type CommandExtras = Partial<
  Pick<
    Command,
    'summary' | 'onlyWith' | 'placeFields' | 'needsFlag' | 'readsAllPages' | 'waitSeconds' | 'show'
  >
>

const done = (text: string): CommandExtras => ({ show: { kind: 'done', text } })
const record = (note: string): CommandExtras => ({ show: { kind: 'record', note } })
const table = (empty: string, columns: readonly string[]) =>
  ({ kind: 'table', rows: 'data', columns, empty }) as const satisfies Show

const connectionColumns = [
  'id',
  'provider',
  'institutionName',
  'status',
  'lastRefreshedAt',
  'createdAt',
]

/** The result of the last attempt, in a few words. */
const lastAttempt: Derive = ({ attempts }) => {
  const last = Array.isArray(attempts) ? attempts.at(-1) : undefined
  if (typeof last !== 'object' || last === null) return 'none yet'
  const { status, durationMs, failure } = last as Readonly<Record<string, unknown>>
  const ending = typeof failure === 'string' ? failure : `answered ${String(status)}`
  return `${ending}, ${String(durationMs)} ms`
}

const countAttempts: Derive = ({ attempts }) => (Array.isArray(attempts) ? attempts.length : 0)

const attempts = { attempts: countAttempts, 'last attempt': lastAttempt }
/** What makes a key narrow, e.g. `scopes events, accounts 2`; null: it sees everything. */
const toLimits: Derive = ({ scopes, connectionIds, accountIds, addresses }) => {
  const lists = { connections: connectionIds, accounts: accountIds, addresses }
  const counted = Object.entries(lists).flatMap(([name, list]) =>
    Array.isArray(list) ? [`${name} ${list.length}`] : [],
  )
  return (
    [...(Array.isArray(scopes) ? [`scopes ${scopes.join(' ')}`] : []), ...counted].join(', ') ||
    null
  )
}

const delivery: CommandExtras = { show: { kind: 'record', derive: attempts } }

const newSecret = record('Keep the secret now: it is never shown again.')

/** The counts of one day, as the admin API answers them. */
const toResults = (results: unknown) => results as UsageResults

interface Window {
  readonly limit: number
  readonly remaining: number
}
interface Windows {
  readonly [bucket: string]: Window | null
}

/** What is left in a window, as the admin API answers it. */
const toLeft = (left: unknown, bucket: string) => {
  const window = (left as Windows)[bucket] ?? null
  if (window === null) return 'not known'
  return window.limit === 0 ? 'no limit' : `${window.remaining} of ${window.limit}`
}

interface Counts {
  readonly active: number
  readonly broken: number
}

const toCounts = (connections: unknown) => connections as Counts

interface CallsLeft {
  readonly calls: number
  readonly left: number
  readonly windowSeconds: number
  readonly isShared: boolean
}

/** What operators look for first: those that refuse requests. */
const breakersOf: Derive = ({ breakers }) => {
  const { closed, open, halfOpen, openUntil } = breakers as ProviderStanding['breakers']
  const words = [
    ...(open > 0 ? [`${open} open until ${openUntil}`] : []),
    ...(halfOpen > 0 ? [`${halfOpen} half-open`] : []),
  ]
  return [...words, `${closed} closed`].join(', ')
}

const budgetOf: Derive = ({ provider, budget }) => {
  if (budget === null) return describeBudget(provider as Provider)
  const { left, calls, windowSeconds, isShared } = budget as CallsLeft
  return `${left} of ${calls} in ${windowSeconds} s, ${isShared ? 'of all' : 'of the lowest login'}`
}

const toCalls = (left: unknown) => left as CallsLeft | null

export const commandExtras: Readonly<Partial<Record<AdminCallName, CommandExtras>>> = {
  inviteUser: {
    placeFields: ['email'],
    ...record('Whoever has this link can make the account; it is mailed where SMTP_URL is set.'),
  },
  listInvitations: {
    show: table('No invitation is open.', ['email', 'createdAt', 'expiresAt']),
  },
  withdrawInvitation: done('The invitation is withdrawn.'),
  remindUser: record('A mail for each broken connection, once a day.'),
  listUsers: {
    readsAllPages: true,
    show: {
      kind: 'table',
      rows: 'data',
      columns: [
        ...['id', 'email', 'plan', 'status', 'lastSeenAt', 'hasSecondFactor', 'active', 'broken'],
        'createdAt',
      ],
      derive: {
        active: ({ connections }) => toCounts(connections).active,
        broken: ({ connections }) => toCounts(connections).broken,
      },
      empty: 'There are no users.',
    },
  },
  setPassword: done('The password is set.'),
  setProfile: { needsFlag: true },
  resetSecondFactor: done('The second factor is removed: the password alone signs in.'),
  deleteUser: done('The user and all their data are deleted.'),
  createKey: record('Keep the key now: it is never shown again.'),
  listKeys: {
    show: {
      ...table('This user has no keys.', [
        ...['id', 'name', 'prefix', 'status', 'limits', 'createdAt', 'expiresAt', 'lastUsedAt'],
        'formerUntil',
      ]),
      derive: { limits: toLimits },
    },
  },
  revokeKey: done('The key is revoked.'),
  createProgram: record('Paste the setup token into the program: it is never shown again.'),
  listPrograms: {
    show: table('No program has access.', [
      'id',
      'name',
      'status',
      'createdAt',
      'lastUsedAt',
      'repeatedAt',
    ]),
  },
  revokeProgram: done('The access is ended.'),
  linkConnections: {
    show: {
      kind: 'table',
      rows: 'connections',
      columns: connectionColumns,
      empty: 'No connection was created.',
    },
  },
  listConnections: {
    show: table('This user has no connections.', [
      ...connectionColumns,
      'consentExpiresAt',
      'nextSyncAt',
      'lastErrorCode',
    ]),
  },
  removeConnection: {
    show: {
      kind: 'done',
      text: 'The connection is removed.',
      leaving:
        'The connection is no longer served. Its provider has not ended the consent yet: that is tried again by itself, and what is kept here is deleted then.',
    },
  },
  createWebhook: newSecret,
  listWebhooks: {
    show: table('This user has no webhook endpoints.', [
      'id',
      'url',
      'events',
      'skipEmpty',
      'pending',
      'health',
      'failingSince',
      'createdAt',
    ]),
  },
  rotateWebhook: newSecret,
  testWebhook: delivery,
  listDeliveries: {
    show: {
      ...table('Nothing was sent to this endpoint.', [
        'id',
        'eventId',
        'createdAt',
        'status',
        'attempts',
        'last attempt',
      ]),
      derive: attempts,
    },
  },
  replayWebhook: { onlyWith: ['from', 'to'] },
  replayDelivery: delivery,
  removeWebhook: done('The webhook endpoint is removed.'),
  listConsumers: {
    show: table('Nobody fetches the events of this user.', [
      'id',
      'name',
      'waiting',
      'lastAskedAt',
      'createdAt',
    ]),
  },
  removeConsumer: done('The consumer is removed.'),
  listAudit: {
    show: table('There are no audit rows.', ['at', 'actor', 'action', 'userId', 'subject']),
  },
  listUserAccounts: {
    show: table('This user has no accounts.', [
      'id',
      'connectionId',
      'name',
      'type',
      'accountNumber',
      'currency',
    ]),
  },
  listAgents: {
    show: table('No agent is connected.', [
      'id',
      'name',
      'redirectHost',
      'scopes',
      'connectedAt',
      'lastUsedAt',
    ]),
  },
  disconnectAgent: done('The agent is disconnected.'),
  listSessions: {
    show: table('This user is signed in nowhere.', [
      'id',
      'signedInAt',
      'lastSeenAt',
      'address',
      'agent',
    ]),
  },
  endSession: done('The browser is signed out.'),
  readUsage: {
    summary: 'show the requests of a user by day; --json also by operation and result',
    show: {
      kind: 'table',
      rows: 'days',
      columns: [
        'day',
        'requests',
        'cached',
        'computed',
        'limited',
        'refused',
        'failed',
        'disconnected',
      ],
      derive: {
        cached: ({ results }) => toResults(results).HIT,
        computed: ({ results }) => toResults(results).MISS + toResults(results).BYPASS,
        limited: ({ results }) => toResults(results).limited,
        refused: ({ results }) => toResults(results).refused,
        failed: ({ results }) => toResults(results).failed,
        disconnected: ({ results }) => toResults(results).disconnected,
      },
      empty: 'There are no days.',
    },
  },
  readLimits: {
    show: {
      kind: 'tables',
      tables: [
        {
          rows: 'readers',
          columns: ['kind', 'name', 'cheap', 'mid', 'heavy'],
          derive: {
            cheap: ({ left }) => toLeft(left, 'cheap'),
            mid: ({ left }) => toLeft(left, 'mid'),
            heavy: ({ left }) => toLeft(left, 'heavy'),
          },
          empty: 'This user has no active key and no agent.',
        },
        {
          rows: 'providers',
          columns: ['provider', 'left', 'calls', 'seconds', 'shared'],
          derive: {
            left: ({ left }) => toCalls(left)?.left ?? null,
            calls: ({ left }) => toCalls(left)?.calls ?? null,
            seconds: ({ left }) => toCalls(left)?.windowSeconds ?? null,
            shared: ({ left }) => toCalls(left)?.isShared ?? null,
          },
          empty: 'No provider of this user limits requests.',
        },
      ],
    },
  },
  listQueues: {
    show: table('Nothing was looked at.', ['at', 'syncsDue', 'deliveriesPending', 'mailsWaiting']),
  },
  listProviders: {
    show: {
      kind: 'table',
      rows: 'data',
      columns: ['provider', 'breakers', 'budget'],
      derive: { breakers: breakersOf, budget: budgetOf },
      empty: 'No provider is configured.',
    },
  },
  // Its checks take six seconds at most.
  examineService: { waitSeconds: 10, show: { kind: 'diagnosis' } },
}
