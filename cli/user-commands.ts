/** The commands that show what a person sees on their pages: accounts, agents, signed-in browsers, requests and limits. */
import type { UsageResults } from '#usage/report.ts'
import type { Command } from './command.ts'

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

interface CallsLeft {
  readonly calls: number
  readonly left: number
  readonly windowSeconds: number
  readonly isShared: boolean
}

const toCalls = (left: unknown) => left as CallsLeft | null

export const userCommands: readonly Command[] = [
  {
    noun: 'accounts',
    verb: 'list',
    summary: 'list the accounts of a user, with masked numbers',
    places: ['U'],
    flags: [],
    method: 'GET',
    path: '/admin/users/{}/accounts',
    show: {
      kind: 'table',
      rows: 'data',
      columns: ['id', 'connectionId', 'name', 'type', 'accountNumber', 'currency'],
      empty: 'This user has no accounts.',
    },
  },
  {
    noun: 'agents',
    verb: 'list',
    summary: 'list the agents that a user has connected',
    places: ['U'],
    flags: [],
    method: 'GET',
    path: '/admin/users/{}/agents',
    show: {
      kind: 'table',
      rows: 'data',
      columns: ['id', 'name', 'redirectHost', 'scopes', 'connectedAt', 'lastUsedAt'],
      empty: 'No agent is connected.',
    },
  },
  {
    noun: 'agents',
    verb: 'disconnect',
    summary: 'disconnect an agent of a user at once',
    places: ['U', 'A'],
    flags: [],
    method: 'DELETE',
    path: '/admin/users/{}/agents/{}',
    show: { kind: 'done', text: 'The agent is disconnected.' },
  },
  {
    noun: 'sessions',
    verb: 'list',
    summary: 'list the browsers in which a user is signed in',
    places: ['U'],
    flags: [],
    method: 'GET',
    path: '/admin/users/{}/sessions',
    show: {
      kind: 'table',
      rows: 'data',
      columns: ['id', 'signedInAt', 'lastSeenAt', 'address', 'agent'],
      empty: 'This user is signed in nowhere.',
    },
  },
  {
    noun: 'sessions',
    verb: 'end',
    summary: 'sign a user out of one browser',
    places: ['U', 'S'],
    flags: [],
    method: 'DELETE',
    path: '/admin/users/{}/sessions/{}',
    show: { kind: 'done', text: 'The browser is signed out.' },
  },
  {
    noun: 'usage',
    verb: '',
    summary: 'show the requests of a user by day; --json also by operation and result',
    places: ['U'],
    flags: [{ name: 'days', value: 'N', help: 'how many days, 1 to 90; 30 when absent' }],
    method: 'GET',
    path: '/admin/users/{}/usage',
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
  {
    noun: 'limits',
    verb: '',
    summary: 'show what is left of the limits of each key and agent of a user, and at providers',
    places: ['U'],
    flags: [],
    method: 'GET',
    path: '/admin/users/{}/limits',
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
]
