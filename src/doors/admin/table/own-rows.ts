/** The admin table's rows of what a person's pages show: accounts, agents, browsers, usage, limits. */
import { z } from 'zod'
import { allScopes } from '#auth/scopes.ts'
import { Account, Provider } from '#contract/resources.ts'
import { usageDoors, usageResults } from '#contract/usage.ts'
import { usageDaysKept } from '#usage/sweep.ts'
import { type AdminCall, list, query, time } from './call.ts'

const Agent = z
  .strictObject({
    id: z.string(),
    name: z.string(),
    clientId: z.string().nullable(),
    redirectHost: z.string(),
    scopes: z.array(z.enum(allScopes)),
    connections: z
      .array(z.string())
      .nullable()
      .meta({ description: 'Chosen on the consent page; null: every one, later ones too.' }),
    connectedAt: time,
    lastUsedAt: time.nullable(),
  })
  .meta({ id: 'Agent', description: 'An agent that the user has connected.' })

const BrowserSession = z
  .strictObject({
    id: z.uuid(),
    signedInAt: time,
    lastSeenAt: time,
    address: z.string().nullable(),
    agent: z.string().nullable().meta({ description: 'What the browser calls itself.' }),
  })
  .meta({ id: 'BrowserSession', description: 'A browser in which the user is signed in.' })

const count = z.int().min(0)
const counted = {
  requests: count,
  results: z
    .strictObject(Object.fromEntries(usageResults.map((name) => [name, count])) as Counts)
    .meta({ id: 'UsageResults', description: 'Requests by what became of them.' }),
}
type Counts = Record<(typeof usageResults)[number], typeof count>

const day = z.iso.date()
const Usage = z
  .strictObject({
    timezone: z.string(),
    from: day,
    to: day,
    ...counted,
    days: z.array(z.strictObject({ day, ...counted })),
    operations: z.array(
      z.strictObject({ door: z.enum(usageDoors), operation: z.string(), ...counted }),
    ),
    readers: z.array(
      z.strictObject({
        kind: z.enum(['key', 'agent', 'program', 'dashboard', 'ended', 'before']),
        id: z.string().nullable(),
        name: z.string().nullable(),
        ...counted,
        operations: z.array(z.strictObject({ operation: z.string(), ...counted })),
      }),
    ),
  })
  .meta({
    id: 'Usage',
    description:
      'The requests of a user in the last days. Of `readers`, `dashboard` is the user on the pages, `ended` are keys and agents that are not listed any more, and `before` was counted before keys and agents were counted apart.',
  })

const Left = z
  .strictObject({ allowed: z.boolean(), limit: count, remaining: count, resetMs: count })
  .meta({ id: 'WindowLeft', description: 'What is left in this minute; a limit of 0: none.' })
const left = Left.nullable()

/** What a provider still allows, as every answer has it. */
export const callsLeftFields = {
  ...{ calls: count, left: count, windowSeconds: count, resetSeconds: count },
  isShared: z.boolean(),
}

const CallsLeft = z
  .strictObject(callsLeftFields)
  .meta({ id: 'CallsLeft', description: 'What a provider still allows.' })

const Limits = z
  .strictObject({
    perMinute: z.strictObject({ cheap: count, mid: count, heavy: count }),
    atOnce: count,
    readers: z.array(
      z.strictObject({
        kind: z.enum(['key', 'agent']),
        name: z.string(),
        left: z.strictObject({ cheap: left, mid: left, heavy: left }),
      }),
    ),
    providers: z.array(z.strictObject({ provider: Provider, left: CallsLeft.nullable() })),
  })
  .meta({
    id: 'Limits',
    description:
      '`cheap` are connections, accounts and categories, `mid` balances, `heavy` the others; 0 means no limit. `left` is null while Valkey or Redis does not answer.',
  })

const message = `must be a whole number from 1 to ${usageDaysKept}`
const days = z
  .string(message)
  .regex(/^\d{1,3}$/, message)
  .transform(Number)
  .pipe(z.int(message).min(1, message).max(usageDaysKept, message))
  .default(30)
  .meta({ schema: { type: 'integer', minimum: 1, maximum: usageDaysKept, default: 30 } })

const noUser = ['user_not_found'] as const

export const ownRowCalls = {
  listUserAccounts: {
    route: 'GET /admin/users/{user}/accounts',
    command: 'accounts list',
    summary: 'list the accounts of a user, with masked numbers',
    description: 'As in `GET /v1/accounts`, by name.',
    reply: list(Account),
    errors: noUser,
  },
  listAgents: {
    route: 'GET /admin/users/{user}/agents',
    command: 'agents list',
    summary: 'list the agents that a user has connected',
    description: 'The newest first, at most 200.',
    reply: list(Agent),
    errors: noUser,
  },
  disconnectAgent: {
    route: 'DELETE /admin/users/{user}/agents/{agent}',
    command: 'agents disconnect',
    summary: 'disconnect an agent of a user at once',
    description: 'Its tokens are refused from now on.',
    reply: null,
    errors: ['user_not_found', 'agent_not_found'],
    audit: ['agent.disconnected'],
  },
  listSessions: {
    route: 'GET /admin/users/{user}/sessions',
    command: 'sessions list',
    summary: 'list the browsers in which a user is signed in',
    description: 'The last seen first.',
    reply: list(BrowserSession),
    errors: noUser,
  },
  endSession: {
    route: 'DELETE /admin/users/{user}/sessions/{session}',
    command: 'sessions end',
    summary: 'sign a user out of one browser',
    reply: null,
    errors: ['user_not_found', 'session_not_found'],
    audit: ['account.end-session'],
  },
  readUsage: {
    route: 'GET /admin/users/{user}/usage',
    command: 'usage',
    summary: 'show the requests of a user by day, by operation, and by key and agent',
    description: 'Requests of other processes are in it ten seconds later.',
    input: query(z.strictObject({ days }), {
      days: { value: 'N', help: 'how many days, 1 to 90; 30 when absent' },
    }),
    reply: Usage,
    errors: noUser,
  },
  readLimits: {
    route: 'GET /admin/users/{user}/limits',
    command: 'limits',
    summary: 'show what is left of the limits of each key and agent of a user, and at providers',
    description: 'Nothing is counted by asking. At most 40: keys first, then the newest agents.',
    reply: Limits,
    errors: noUser,
  },
} as const satisfies Readonly<Record<string, AdminCall>>
