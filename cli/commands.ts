/**
 * Every command, once: its words, its flags, the call of the admin API that it makes and how its answer is shown. Flags
 * become fields of the body in camelCase; what they mean is decided by the server.
 */

import { sandboxCommands } from './sandbox-commands.ts'

export interface Flag {
  /** Without the dashes. */
  readonly name: string
  /** What stands for the value in the usage line; null: the flag has none and means `true`. */
  readonly value: string | null
  readonly isRequired?: true
  /** `-` as its value reads standard input. */
  readonly isSecret?: true
  /** Digits are sent as a number. */
  readonly isNumber?: true
  readonly help: string
}

/** How an answer is shown to a person; with `--json` it is printed as it came. */
export type Show =
  | {
      readonly kind: 'table'
      /** The field of the answer that holds the rows. */
      readonly rows: string
      readonly columns: readonly string[]
      readonly empty: string
    }
  | { readonly kind: 'record'; readonly note?: string }
  | { readonly kind: 'done'; readonly text: string }
  /** What the doctor found; an `error` in it ends the command with 1. */
  | { readonly kind: 'diagnosis' }

export interface Command extends Words {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  /** `{}` stands for each positional argument. */
  readonly path: string
  /** Fields of the body that take the positional arguments which `path` has no place for; digits become numbers. */
  readonly placeFields?: readonly string[]
  readonly show: Show
}

/** A command that asks no server. */
export type LocalCommand = Words

/** What stands in the help texts. */
export interface Words {
  readonly noun: string
  /** One word or two; empty: the noun alone. */
  readonly verb: string
  readonly summary: string
  /** Placeholders of the positional arguments, in the order of `path`. */
  readonly places: readonly string[]
  readonly flags: readonly Flag[]
}

/** Replays an agent's handshake; it asks the URL that it is given, and no admin API. */
export const mcpDoctor: LocalCommand = {
  noun: 'doctor',
  verb: '--mcp',
  summary: 'replay what an agent does with this URL, and say which step fails',
  places: ['URL'],
  flags: [{ name: 'key', value: 'KEY', isSecret: true, help: 'an API key, to try the tools too' }],
}

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
      { name: 'password', value: 'P', isSecret: true, help: 'what they sign in with; - reads it' },
      { name: 'timezone', value: 'Z', help: 'IANA time zone, e.g. Australia/Sydney' },
      { name: 'plan', value: 'P', help: 'developer, professional or none' },
      { name: 'status', value: 'S', help: 'active, trialing, past_due or canceled; needs --plan' },
    ],
    method: 'POST',
    path: '/admin/users',
    show: { kind: 'record' },
  },
  {
    noun: 'users',
    verb: 'list',
    summary: 'list all users',
    places: [],
    flags: [],
    method: 'GET',
    path: '/admin/users',
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
        help: '10 to 256 characters; - reads it',
      },
    ],
    method: 'PUT',
    path: '/admin/users/{}/password',
    show: { kind: 'done', text: 'The password is set.' },
  },
  {
    noun: 'users',
    verb: 'delete',
    summary: 'revoke, forget and purge everything of a user',
    places: ['U'],
    flags: [],
    method: 'DELETE',
    path: '/admin/users/{}',
    show: { kind: 'done', text: 'The user and everything of theirs is deleted.' },
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
        value: 'P',
        isRequired: true,
        help: 'developer, professional or none',
      },
      {
        name: 'status',
        value: 'S',
        isRequired: true,
        help: 'active, trialing, past_due or canceled',
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
    summary: 'make an API key; it is shown this once',
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

const connections: readonly Command[] = [
  {
    noun: 'connections',
    verb: 'link',
    summary: 'adopt the consents that a person has given at a provider',
    places: ['U'],
    flags: [
      { name: 'provider', value: 'P', isRequired: true, help: 'fiskil, akahu or snaptrade' },
      { name: 'end-user-id', value: 'X', help: 'fiskil: the end user' },
      { name: 'user-token', value: 'X', isSecret: true, help: 'akahu: the user token' },
      { name: 'snaptrade-user-id', value: 'X', help: 'snaptrade: the user id' },
      { name: 'user-secret', value: 'Y', isSecret: true, help: 'snaptrade: the user secret' },
    ],
    method: 'POST',
    path: '/admin/users/{}/connections',
    show: { kind: 'table', rows: 'connections', columns: connectionColumns, empty: 'Nothing.' },
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
      columns: connectionColumns,
      empty: 'This user has no connections.',
    },
  },
  {
    noun: 'connections',
    verb: 'refresh',
    summary: 'ask the provider again what became of a connection',
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
    flags: [],
    method: 'DELETE',
    path: '/admin/connections/{}',
    show: { kind: 'done', text: 'The connection is removed.' },
  },
]

const doctor: readonly Command[] = [
  {
    noun: 'doctor',
    verb: '',
    summary: 'look at everything the server stands on, and say what to do',
    places: [],
    flags: [],
    method: 'GET',
    path: '/admin/doctor',
    show: { kind: 'diagnosis' },
  },
]

/** In the order of the help text. */
export const commands: readonly Command[] = [
  ...users,
  ...plans,
  ...keys,
  ...connections,
  ...doctor,
  ...sandboxCommands,
]

/** What the placeholders of positional arguments stand for. */
export const placeMeanings: Readonly<Record<string, string>> = {
  U: 'id or e-mail address of a user',
  K: 'id of a key',
  C: 'id of a connection',
  URL: 'as agents are given it, e.g. https://example.com/mcp',
  PERSON: 'name of somebody in the sandbox, see `sandbox people`',
  PROVIDER: 'fiskil, akahu or snaptrade',
  MS: 'milliseconds, 0 for none',
  STATUS: 'HTTP status from 400 to 599',
}
