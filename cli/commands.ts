/**
 * The one table of all commands: words, flags, the call of the admin API, and how its answer is shown. Flags become
 * fields of the body in camelCase; the server defines what they mean.
 */

import type { Provider } from '#contract/resources.ts'
import { factsOf, providerNames } from '#providers/all-facts.ts'
import type { Command, Flag, LocalCommand } from './command.ts'
import { providerWords, sandboxCommands } from './sandbox-commands.ts'
import { userCommands } from './user-commands.ts'
import { syncCommands, webhookCommands } from './webhook-commands.ts'

/** Replays an agent's handshake; it calls the given URL, not the admin API. */
export const mcpDoctor: LocalCommand = {
  noun: 'doctor',
  verb: '--mcp',
  summary: 'replay what an agent does with this URL, and report which step fails',
  places: ['URL'],
  flags: [{ name: 'key', value: 'KEY', isSecret: true, help: 'an API key, to try the tools too' }],
}

const planWords = 'developer|professional|none'
const statusWords = 'active|trialing|past_due|canceled'

const connectionColumns = [
  'id',
  'provider',
  'institutionName',
  'status',
  'lastRefreshedAt',
  'createdAt',
]

const users: readonly Command[] = [
  {
    noun: 'users',
    verb: 'create',
    summary: 'make a user',
    places: [],
    flags: [
      { name: 'email', value: 'E', isRequired: true, help: 'e-mail address' },
      { name: 'password', value: 'P', isSecret: true, help: 'what they sign in with' },
      { name: 'timezone', value: 'Z', help: 'IANA time zone, e.g. Australia/Sydney' },
      { name: 'plan', value: planWords, help: 'what they may use; DEFAULT_PLAN when absent' },
      { name: 'status', value: statusWords, help: 'active when absent; needs --plan' },
    ],
    method: 'POST',
    path: '/admin/users',
    show: { kind: 'record' },
  },
  {
    noun: 'users',
    verb: 'invite',
    summary: 'ask somebody to make an account, by a link that is valid once',
    places: ['E'],
    flags: [],
    method: 'POST',
    path: '/admin/invitations',
    placeFields: ['email'],
    show: {
      kind: 'record',
      note: 'Whoever has this link can make the account; it is mailed where SMTP_URL is set.',
    },
  },
  {
    noun: 'users',
    verb: 'list',
    summary: 'list all users',
    places: [],
    flags: [],
    method: 'GET',
    path: '/admin/users',
    readsAllPages: true,
    show: {
      kind: 'table',
      rows: 'data',
      columns: ['id', 'email', 'plan', 'status', 'timezone', 'createdAt'],
      empty: 'There are no users.',
    },
  },
  {
    noun: 'users',
    verb: 'show',
    summary: 'show one user',
    places: ['U'],
    flags: [],
    method: 'GET',
    path: '/admin/users/{}',
    show: { kind: 'record' },
  },
  {
    noun: 'users',
    verb: 'set-password',
    summary: 'set what a user signs in with, and end their sessions',
    places: ['U'],
    flags: [
      {
        name: 'password',
        value: 'P',
        isRequired: true,
        isSecret: true,
        help: '10 to 256 characters',
      },
    ],
    method: 'PUT',
    path: '/admin/users/{}/password',
    show: { kind: 'done', text: 'The password is set.' },
  },
  {
    noun: 'users',
    verb: 'set-profile',
    summary: 'set the name and the time zone of a user; what is not given stays',
    places: ['U'],
    flags: [
      { name: 'name', value: 'N', help: 'at most 100 characters; empty: no name' },
      { name: 'timezone', value: 'Z', help: 'IANA time zone, e.g. Australia/Sydney' },
    ],
    method: 'PUT',
    path: '/admin/users/{}/profile',
    needsFlag: true,
    show: { kind: 'record' },
  },
  {
    noun: 'users',
    verb: 'reset-second-factor',
    summary: 'remove the second factor of a user who lost the app and the recovery codes',
    places: ['U'],
    flags: [],
    method: 'DELETE',
    path: '/admin/users/{}/second-factor',
    show: { kind: 'done', text: 'The second factor is removed: the password alone signs in.' },
  },
  {
    noun: 'users',
    verb: 'delete',
    summary: 'delete a user and all their data, and end their consents',
    places: ['U'],
    flags: [],
    method: 'DELETE',
    path: '/admin/users/{}',
    show: { kind: 'done', text: 'The user and all their data are deleted.' },
  },
]

const plans: readonly Command[] = [
  {
    noun: 'plans',
    verb: 'set',
    summary: 'set the plan of a user as a whole',
    places: ['U'],
    flags: [
      {
        name: 'plan',
        value: planWords,
        isRequired: true,
        help: 'what they may use',
      },
      {
        name: 'status',
        value: statusWords,
        isRequired: true,
        help: 'state of the subscription',
      },
      {
        name: 'legacy-until',
        value: 'ISO',
        help: 'cut-off of a legacy account; access ends 14 days after it',
      },
      { name: 'grandfathered', value: null, help: 'API access whatever the plan' },
    ],
    method: 'PUT',
    path: '/admin/users/{}/plan',
    show: { kind: 'record' },
  },
]

const keys: readonly Command[] = [
  {
    noun: 'keys',
    verb: 'create',
    summary: 'create an API key; it is shown only once',
    places: ['U'],
    flags: [
      { name: 'name', value: 'N', help: 'what the key is for' },
      { name: 'expires', value: 'ISO', help: 'instant with Z or an offset; never when absent' },
    ],
    method: 'POST',
    path: '/admin/users/{}/keys',
    show: { kind: 'record', note: 'Keep the key now: it is never shown again.' },
  },
  {
    noun: 'keys',
    verb: 'list',
    summary: 'list the keys of a user, without their secrets',
    places: ['U'],
    flags: [],
    method: 'GET',
    path: '/admin/users/{}/keys',
    show: {
      kind: 'table',
      rows: 'data',
      columns: ['id', 'name', 'prefix', 'status', 'createdAt', 'expiresAt', 'lastUsedAt'],
      empty: 'This user has no keys.',
    },
  },
  {
    noun: 'keys',
    verb: 'revoke',
    summary: 'revoke a key at once',
    places: ['K'],
    flags: [],
    method: 'DELETE',
    path: '/admin/keys/{}',
    show: { kind: 'done', text: 'The key is revoked.' },
  },
]

function listLinkFlags(provider: Provider): Flag[] {
  return Object.values(factsOf(provider).linkFields).map(({ flag, help, ...rest }) => ({
    ...rest,
    name: flag,
    help: `${provider}: ${help}`,
  }))
}

const connections: readonly Command[] = [
  {
    noun: 'connections',
    verb: 'link',
    summary: 'create connections for consents that exist at a provider',
    places: ['U'],
    flags: [
      { name: 'provider', value: providerWords, isRequired: true, help: 'where the consent is' },
      ...providerNames.flatMap(listLinkFlags),
    ],
    method: 'POST',
    path: '/admin/users/{}/connections',
    show: {
      kind: 'table',
      rows: 'connections',
      columns: connectionColumns,
      empty: 'No connection was created.',
    },
  },
  {
    noun: 'connections',
    verb: 'list',
    summary: 'list the connections of a user',
    places: ['U'],
    flags: [],
    method: 'GET',
    path: '/admin/users/{}/connections',
    show: {
      kind: 'table',
      rows: 'data',
      columns: [...connectionColumns, 'consentExpiresAt', 'nextSyncAt', 'lastErrorCode'],
      empty: 'This user has no connections.',
    },
  },
  {
    noun: 'connections',
    verb: 'refresh',
    summary: 'refresh the state of a connection from its provider',
    places: ['C'],
    flags: [],
    method: 'POST',
    path: '/admin/connections/{}/refresh',
    show: { kind: 'record' },
  },
  {
    noun: 'connections',
    verb: 'remove',
    summary: 'end the consent and delete the connection',
    places: ['C'],
    flags: [
      {
        name: 'at-provider',
        value: null,
        help: 'the consent behind a person’s own key ends there too, not only here',
      },
    ],
    method: 'DELETE',
    path: '/admin/connections/{}',
    show: {
      kind: 'done',
      text: 'The connection is removed.',
      leaving:
        'The connection is no longer served. Its provider has not ended the consent yet: that is tried again by itself, and what is kept here is deleted then.',
    },
  },
]

const audit: readonly Command[] = [
  {
    noun: 'audit',
    verb: 'list',
    summary: 'list the audit rows, newest first',
    places: [],
    flags: [
      { name: 'user', value: 'U', help: 'only rows about or by this user' },
      { name: 'limit', value: 'N', help: 'how many, 1 to 1000; 100 when absent' },
    ],
    method: 'GET',
    path: '/admin/audit',
    show: {
      kind: 'table',
      rows: 'data',
      columns: ['at', 'actor', 'action', 'userId', 'subject'],
      empty: 'There are no audit rows.',
    },
  },
]

const doctor: readonly Command[] = [
  {
    noun: 'doctor',
    verb: '',
    summary: 'check everything the server depends on, and say what to do',
    places: [],
    flags: [],
    method: 'GET',
    path: '/admin/doctor',
    // Its checks take eight seconds at most.
    waitSeconds: 10,
    show: { kind: 'diagnosis' },
  },
]

/** In the order of the help text. */
export const commands: readonly Command[] = [
  ...users,
  ...plans,
  ...keys,
  ...connections,
  ...syncCommands,
  ...webhookCommands,
  ...audit,
  ...userCommands,
  ...doctor,
  ...sandboxCommands,
]

/** What the placeholders of positional arguments mean. */
export const placeMeanings: Readonly<Record<string, string>> = {
  U: 'id or e-mail address of a user',
  E: 'e-mail address',
  K: 'id of a key',
  A: 'id of a connected agent',
  S: 'id of a signed-in browser',
  C: 'id of a connection',
  W: 'id of a webhook endpoint',
  D: 'id of a delivery',
  URL: 'as agents are given it, e.g. https://example.com/mcp',
  PERSON: 'name of a person in the sandbox, see `sandbox people`',
  EVENT: 'an event as its provider names it, e.g. consent.revoked',
  PROVIDER: providerWords,
  MS: 'milliseconds, 0 for none',
  STATUS: 'HTTP status from 400 to 599',
}
