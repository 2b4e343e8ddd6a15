/** Rows of the audit and of the state of the installation in the table of the admin API. */
import { z } from 'zod'
import { Provider } from '#contract/resources.ts'
import { pageCursor, pageFields, pageRows } from '../paging.ts'
import { type AdminCall, list, pageOf, query, time } from './call.ts'
import { callsLeftFields } from './own-rows.ts'

const AuditEntry = z
  .strictObject({
    id: z.string(),
    at: time,
    actor: z.string(),
    address: z.string().nullable(),
    action: z.string(),
    userId: z.uuid().nullable(),
    subject: z.string(),
  })
  .meta({ id: 'AuditEntry', description: 'Who changed what: ids and names, never a secret.' })

const ServiceFacts = z
  .strictObject({
    version: z.string(),
    mode: z.enum(['live', 'sandbox']),
    baseUrl: z.string(),
    mcpUrl: z.string(),
  })
  .meta({ id: 'ServiceFacts', description: 'The mode and the public origins.' })

const verdict = z.enum(['ok', 'warning', 'error'])
const Diagnosis = z
  .strictObject({
    status: verdict,
    checks: z.array(
      z.strictObject({
        name: z.string(),
        status: verdict,
        message: z.string(),
        action: z.string().nullable().meta({ description: 'What to do; null: nothing.' }),
      }),
    ),
  })
  .meta({ id: 'Diagnosis', description: 'The findings of the doctor, and the worst status.' })

const count = z.int().min(0)
const ProviderStanding = z
  .strictObject({
    provider: Provider,
    connections: z.strictObject({ seen: count, isAll: z.boolean() }),
    breakers: z.strictObject({
      closed: count,
      open: count,
      halfOpen: count,
      openUntil: time.nullable(),
    }),
    budget: z.strictObject({ ...callsLeftFields, logins: count }).nullable(),
  })
  .meta({
    id: 'ProviderStanding',
    description:
      'Current state of a provider. Each connection has a breaker of its own: `open` ones refuse requests until `openUntil` at the latest, for `halfOpen` breakers the next request is the probe. The newest 500 active connections are looked at. `budget` is what is left of the requests that the provider allows: of the whole installation where `isShared`, otherwise of the login with the smallest share left among 50; null: no limit is known, or nobody is linked.',
  })

const QueueSample = z
  .strictObject({ at: time, syncsDue: count, deliveriesPending: count, mailsWaiting: count })
  .meta({ id: 'QueueSample', description: 'How much waited at an instant.' })

export const auditCalls = {
  listAudit: {
    route: 'GET /admin/audit',
    command: 'audit list',
    summary: 'list the audit rows, newest first',
    description: 'The user need not exist any more.',
    input: query(
      z.strictObject({
        user: z.string('must be given only once').min(1, 'must not be empty').optional(),
        action: z
          .string('must be given only once')
          .regex(/^[a-z.-]{1,100}$/, 'must be the beginning of an action, e.g. keys.')
          .optional(),
        limit: pageRows(100),
        cursor: pageCursor,
      }),
      {
        user: { value: 'U', help: 'only rows about or by this user' },
        action: { value: 'A', help: 'only actions that begin with it, e.g. keys.' },
        ...pageFields(100),
      },
    ),
    reply: pageOf(AuditEntry),
    errors: ['user_not_found'],
  },
} as const satisfies Readonly<Record<string, AdminCall>>

export const serviceCalls = {
  listQueues: {
    route: 'GET /admin/queues',
    command: 'queues list',
    summary: 'show the lengths of the queues over the last day',
    description:
      'The present lengths first, then a look every five minutes since this process has started. They are those of all processes together.',
    reply: list(QueueSample),
  },
  listProviders: {
    route: 'GET /admin/providers',
    command: 'providers list',
    summary: 'show the breakers and what is left of the budget of each provider now',
    description: 'Nothing is counted by asking, and no provider is asked.',
    reply: list(ProviderStanding),
  },
  showService: {
    route: 'GET /admin/service',
    summary: 'show the mode and the public addresses of this service',
    reply: ServiceFacts,
  },
  examineService: {
    route: 'GET /admin/doctor',
    command: 'doctor',
    summary: 'check everything the server depends on, and say what to do',
    description: 'It answers 200 within ten seconds, whatever it finds.',
    reply: Diagnosis,
  },
} as const satisfies Readonly<Record<string, AdminCall>>
