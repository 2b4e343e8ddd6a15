/**
 * The commands on webhook endpoints and their deliveries, and the one that listens for events itself. Part of the table of
 * commands.
 */
import { eventTypes } from '#contract/events.ts'
import type { Command, Derive, LocalCommand } from './command.ts'

const types = eventTypes.join(',')

/** The result of the last attempt, in a few words. */
const lastAttempt: Derive = ({ attempts }) => {
  const last = Array.isArray(attempts) ? attempts.at(-1) : undefined
  if (typeof last !== 'object' || last === null) return 'none yet'
  const { status, durationMs, failure } = last as Readonly<Record<string, unknown>>
  const ending = typeof failure === 'string' ? failure : `answered ${String(status)}`
  return `${ending}, ${String(durationMs)} ms`
}

const countAttempts: Derive = ({ attempts }) => (Array.isArray(attempts) ? attempts.length : 0)

const showDelivery = {
  kind: 'record',
  derive: { attempts: countAttempts, 'last attempt': lastAttempt },
} as const

const newSecret = { kind: 'record', note: 'Keep the secret now: it is never shown again.' } as const

/** Acts on one endpoint and shows the answer as a record. */
const endpoint = (verb: string, summary: string): Command => ({
  noun: 'webhooks',
  verb,
  summary,
  places: ['W'],
  flags: [],
  method: 'POST',
  path: `/admin/webhooks/{}/${verb}`,
  show: { kind: 'record' },
})

const replays: readonly Command[] = [
  {
    ...endpoint('replay', 'send every event of a time range again, while the payloads are stored'),
    onlyWith: ['from', 'to'],
    flags: [
      { name: 'from', value: 'ISO', isRequired: true, help: 'accepted from this instant on' },
      { name: 'to', value: 'ISO', isRequired: true, help: 'and before this one' },
    ],
  },
  {
    ...endpoint('replay', 'send one delivery again, while its payload is stored'),
    places: ['D'],
    path: '/admin/deliveries/{}/replay',
    show: showDelivery,
  },
]

export const webhookCommands: readonly Command[] = [
  {
    noun: 'webhooks',
    verb: 'create',
    summary: 'create an endpoint that events are sent to; its secret is shown only once',
    places: ['U'],
    flags: [
      { name: 'url', value: 'URL', isRequired: true, help: 'https, at most 2,048 characters' },
      { name: 'events', value: types, isList: true, help: 'some of these; all when absent' },
      { name: 'skip-empty', value: null, help: 'no events of syncs without new or changed rows' },
    ],
    method: 'POST',
    path: '/admin/users/{}/webhooks',
    show: newSecret,
  },
  {
    noun: 'webhooks',
    verb: 'list',
    summary: 'list the endpoints of a user, without their secrets',
    places: ['U'],
    flags: [],
    method: 'GET',
    path: '/admin/users/{}/webhooks',
    show: {
      kind: 'table',
      rows: 'data',
      columns: ['id', 'url', 'events', 'skipEmpty', 'health', 'failingSince', 'createdAt'],
      empty: 'This user has no webhook endpoints.',
    },
  },
  {
    ...endpoint('rotate', 'replace the secret of an endpoint; the new one is shown only once'),
    flags: [
      {
        name: 'overlap-hours',
        value: 'N',
        isNumber: true,
        help: 'hours in which the former secret signs too, 0 to 168; 24 when absent',
      },
    ],
    show: newSecret,
  },
  endpoint('enable', 'resume sending to an endpoint'),
  endpoint('disable', 'stop sending to an endpoint'),
  { ...endpoint('test', 'send a test event and show the answer'), show: showDelivery },
  {
    noun: 'webhooks',
    verb: 'deliveries',
    summary: 'list the deliveries of an endpoint with their answers, newest first',
    places: ['W'],
    flags: [{ name: 'limit', value: 'N', help: 'how many, 1 to 1000; 100 when absent' }],
    method: 'GET',
    path: '/admin/webhooks/{}/deliveries',
    show: {
      kind: 'table',
      rows: 'data',
      columns: ['id', 'eventId', 'createdAt', 'status', 'attempts', 'last attempt'],
      derive: { attempts: countAttempts, 'last attempt': lastAttempt },
      empty: 'Nothing was sent to this endpoint.',
    },
  },
  ...replays,
  {
    noun: 'webhooks',
    verb: 'remove',
    summary: 'delete an endpoint with its deliveries',
    places: ['W'],
    flags: [],
    method: 'DELETE',
    path: '/admin/webhooks/{}',
    show: { kind: 'done', text: 'The webhook endpoint is removed.' },
  },
]

export const syncCommands: readonly Command[] = [
  {
    noun: 'sync',
    verb: 'run',
    summary: 'look for new and changed rows of a connection now, and wait for the end',
    places: ['C'],
    flags: [],
    method: 'POST',
    path: '/admin/connections/{}/sync',
    show: { kind: 'record' },
  },
]

/** Receives events itself, until Ctrl-C. */
export const webhooksListen: LocalCommand = {
  noun: 'webhooks',
  verb: 'listen',
  summary: 'receive the events of a user here, verify and print them, until Ctrl-C',
  places: [],
  flags: [
    { name: 'user', value: 'U', isRequired: true, help: 'whose events; id or e-mail address' },
    {
      name: 'port',
      value: 'N',
      isNumber: true,
      help: 'port on 127.0.0.1; any free one when absent',
    },
  ],
}
