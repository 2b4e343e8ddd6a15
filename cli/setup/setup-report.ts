/** What a setup prints for a person: what was made, the key, and a request to copy that returns real data. */
import { toPrintable } from '../printable.ts'
import type { Written } from './settings-file.ts'

export interface User {
  readonly id: string
  readonly email: string
  readonly timezone: string | null
  readonly plan: string
}

/** The fields that are used here, of a connection as the admin API answers it. */
export interface ReportedConnection {
  readonly id: string
  readonly provider: string
  readonly category: 'banking' | 'brokerage'
  readonly institutionName: string
  readonly status: string
}

export interface ReportedAccount {
  readonly id: string
  readonly connectionId: string
  readonly type: string
}

export interface SetUpResult {
  readonly user: User
  readonly isNew: boolean
  /** Shown only once; null: there is one already, or nothing to use it for yet. */
  readonly key: string | null
  readonly connections: readonly ReportedConnection[]
  /** Those of them that are new. */
  readonly added: readonly ReportedConnection[]
  readonly accounts: readonly ReportedAccount[]
  /** The path and query of the request to try first; null: there is no key to print with it. */
  readonly firstRequest: string | null
  /** What could not be linked and what to do, one line each. */
  readonly failures: readonly string[]
  readonly notes: readonly string[]
  readonly written: Written | null
  /**
   * Variables that the service needs too, and has from the environment of this process alone; null: what
   * starts the service sets them.
   */
  readonly fromEnvironment: readonly string[] | null
  /** The service is running already. */
  readonly isRunning: boolean
  readonly baseUrl: string
  /** Null: the service keeps its data elsewhere. */
  readonly storeDir: string | null
}

/** The text for standard output, its last newline included. */
export function describeOutcome(outcome: SetUpResult): string {
  const { user, isNew, key, added, failures, written } = outcome
  const settings = [...(written?.names ?? []), ...(written?.replaced ?? [])]
  const changes = isNew || key !== null || added.length > 0 || settings.length > 0
  const head =
    changes || failures.length > 0
      ? []
      : ['Nothing was changed: all of this is set up already.', '']
  const plan = user.plan === 'none' ? '; plan none: no API access, see `tributary plans set`' : ''
  const lines = [
    ...head,
    `  Owner      ${user.email} (${user.timezone ?? 'no time zone'}${plan})${isNew ? '' : ', was there already'}`,
    ...describeConnections(outcome),
    ...describeSettings(outcome),
    ...(key === null
      ? describeFormerKey(outcome)
      : [`  API key    ${key}`, '             Keep it now: it is never shown again.']),
    ...outcome.notes.map((text) => `  Note       ${text}`),
    ...describeNext(outcome),
  ]
  return `${lines.map(toPrintable).join('\n')}\n`
}

/** A key that was made by a run that was cut off was never seen. */
function describeFormerKey({ user, connections, failures }: SetUpResult): string[] {
  if (connections.length === 0 && failures.length > 0) return []
  return [
    '  API key    made before, shown only then; another one, while the service runs:',
    `             npm run --silent tributary -- keys create ${user.email}`,
  ]
}

function describeConnections({ connections, added, accounts }: SetUpResult): string[] {
  if (connections.length === 0) return ['  Linked     nothing yet']
  return connections.map((connection, index) => {
    const count = accounts.filter(({ connectionId }) => connectionId === connection.id).length
    const parts = [
      `${count} account${count === 1 ? '' : 's'}`,
      ...(connection.status === 'active' ? [] : [connection.status]),
      ...(added.includes(connection) ? [] : ['was linked already']),
    ]
    const label = index === 0 ? 'Linked  ' : '        '
    return `  ${label}   ${connection.institutionName} (${connection.provider}): ${parts.join(', ')}`
  })
}

function describeSettings({ written, storeDir }: SetUpResult): string[] {
  const lines = storeDir === null ? [] : [`  Data       ${storeDir}`]
  if (written === null) return lines
  const { path, names, replaced, wasExposed } = written
  if (names.length > 0) lines.push(`  Settings   ${path}: ${names.join(', ')} added`)
  if (replaced.length > 0) lines.push(`  Settings   ${path}: ${replaced.join(', ')} replaced`)
  if (wasExposed) lines.push(`  Settings   ${path} could be read by others: its mode is 0600 now`)
  return lines
}

function describeNext(outcome: SetUpResult): string[] {
  const { key, connections, isRunning, fromEnvironment, baseUrl, firstRequest } = outcome
  if (connections.length === 0) {
    return [
      '',
      'Link an account by running setup again with a key of yours: docs/self-hosting.md says where to get one.',
    ]
  }
  const start = isRunning ? [] : describeStart(fromEnvironment)
  if (key === null || firstRequest === null) return start
  return [
    ...start,
    '',
    isRunning ? 'Try it:' : 'Then, in a second terminal:',
    '',
    `  curl -s -H 'Authorization: Bearer ${key}' '${baseUrl}${firstRequest}'`,
  ]
}

function describeStart(fromEnvironment: SetUpResult['fromEnvironment']): string[] {
  if (fromEnvironment === null) {
    return [
      '',
      'Start the service, e.g. with `docker compose up -d` or `systemctl start tributary`.',
    ]
  }
  const same =
    fromEnvironment.length === 0 ? '' : `, with ${fromEnvironment.join(', ')} set as here`
  return ['', `Start the service${same}:`, '', '  npm start']
}
