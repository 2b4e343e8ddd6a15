/** The text that a person sees when the process has started, or why it has not. */

import type { Origins } from '#contract/origins.ts'
import { FewFilesError } from '#doors/listener/connection-limits.ts'
import { errorCode } from '#kernel/error-code.ts'
import { findFailure } from '#providers/failure.ts'
import type { Demo } from '#sandbox/demo.ts'
import type { Config } from '#settings/compose.ts'
import { EnvironmentFileError } from '#settings/environment-file.ts'
import { SecretsError } from '#settings/secrets.ts'
import { ConfigError } from '#src/config.ts'
import { StoreCopyError, StoreOpenError, StoreUnavailableError, toAdvice } from '#store/failure.ts'
import type { Store } from '#store/ports/store.ts'
import { type OwnCommand, quoteWord } from './command.ts'

export interface Welcome {
  readonly config: Config
  readonly origins: Origins
  readonly adminUrl: string
  readonly adminTokenFile: string | null
  readonly command: OwnCommand
  readonly demo: Demo | null
  readonly users: FirstUsers
}

/** Whether anybody has an account. Only a person who is alone and cannot sign in yet is named. */
export type FirstUsers = 'none' | 'some' | { readonly withoutPassword: string }

/** What the start says depends on this. */
export async function lookForUsers({
  users,
  sessions,
  passkeys,
}: Pick<Store, 'users' | 'sessions' | 'passkeys'>): Promise<FirstUsers> {
  const [first, second] = await users.listPage({ after: null, limit: 2 })
  if (first === undefined) return 'none'
  if (second !== undefined || (await sessions.findPassword(first.id)) !== null) return 'some'
  const hasPasskey = (await passkeys.list(first.id)).length > 0
  return hasPasskey ? 'some' : { withoutPassword: first.email }
}

/** Prints the addresses and, in sandbox mode, API keys and a request to copy. */
export function printWelcome(welcome: Welcome): void {
  process.stdout.write(`${describeWelcome(welcome).join('\n')}\n`)
}

export function describeWelcome(welcome: Welcome): string[] {
  const { config, origins, adminUrl, adminTokenFile, demo } = welcome
  const lines = [
    '',
    `Tributary is ready (${config.mode} mode, data in ${config.storeDir})`,
    '',
    ...(config.role === 'worker'
      ? ['  Background work alone (ROLE=worker): no public address']
      : describePublic(origins)),
    `  Admin API    ${adminUrl}${adminTokenFile === null ? '' : `  (token in ${adminTokenFile})`}`,
  ]
  const file = config.environmentFile
  if (file !== null)
    lines.push(`  Settings     ${file.path} was read; environment variables take precedence`)
  if (demo === null) {
    lines.push('', `Next: ${describeNext(welcome)}`)
  } else lines.push(...describeDemo(origins, demo))
  lines.push('')
  return lines
}

function describePublic(origins: Origins): string[] {
  return [
    `  Dashboard    ${origins.base}/`,
    `  REST API     ${origins.base}/v1`,
    `  API docs     ${origins.base}/doc`,
    `  OpenAPI      ${origins.base}/openapi.json`,
    `  Agents (MCP) ${origins.mcp}/mcp`,
  ]
}

/**
 * Leaves out variables that the command finds by itself, also in `.env`; the others are put before the
 * command, since another terminal does not have them.
 */
function describeNext(welcome: Welcome): string {
  const { config, origins, adminUrl, adminTokenFile, command, users } = welcome
  if (config.role === 'worker') return 'people and programs need a process with ROLE=api'
  if (config.signUp === 'open' && users === 'none')
    return `make an account at ${origins.base}/sign-up`
  const signIn = `sign in at ${origins.base}/`
  if (users === 'some') return signIn
  const isGiven = (name: string) =>
    config.given.some((one) => one.name === name) && !isInFile(config, name)
  const environment: string[] = []
  if (adminUrl !== findableUrl(config)) environment.push(`ADMIN_URL=${adminUrl} `)
  if (adminTokenFile === null && isGiven('ADMIN_TOKEN')) environment.push('ADMIN_TOKEN=… ')
  if (adminTokenFile !== null && isGiven('DATA_DIR')) {
    environment.push(`DATA_DIR=${quoteWord(config.dataDir)} `)
  }
  const before =
    command.knowsSettings && config.adminListener.port !== 0 ? '' : environment.join('')
  const start = `${before}${command.words}`
  if (users === 'none') return `${start} ${toFirstCommand(config)}`
  const password = `${start} users set-password ${quoteWord(users.withoutPassword)} --password -`
  return `${signIn}; a first password is set with ${password}`
}

/** Leads to an account for the pages: by a link, or where nobody is invited by a password that is typed. */
function toFirstCommand({ signUp }: Config): string {
  return signUp === 'closed'
    ? 'users create --email you@example.com --password -'
    : 'users invite you@example.com'
}

function isInFile({ environmentFile }: Config, name: string): boolean {
  return environmentFile?.names.some((one) => one === name) ?? false
}

/** The address that the command uses without variables: the default, or the one in the `.env` file. */
function findableUrl(config: Config): string {
  const { host, port } = config.adminListener
  const knownHost = isInFile(config, 'ADMIN_HOST') && !host.includes(':') ? host : '127.0.0.1'
  const knownPort = isInFile(config, 'ADMIN_PORT') ? port : 3001
  return `http://${knownHost}:${knownPort}`
}

function describeDemo(origins: Origins, demo: Demo): string[] {
  const [first] = demo.users
  return [
    '',
    'Sandbox: emulated providers with made-up people. One demo key per plan:',
    '',
    ...demo.users.map((user) => `  ${user.plan.padEnd(13)}${user.key}`),
    '',
    'Sign in to the dashboard as either of them:',
    '',
    `  E-mail       ${demo.users.map((user) => user.email).join(' or ')}`,
    `  Password     ${demo.password}`,
    '',
    'Try it:',
    '',
    `  curl -s -H 'Authorization: Bearer ${first?.key ?? ''}' '${origins.base}/v1/transactions?connectionId=${demo.connectionId}&accountId=${demo.accountId}&limit=3'`,
  ]
}

/** One clear line per problem: what is wrong and what to do. */
export function describeStartFailure(error: unknown): string {
  if (error instanceof ConfigError || error instanceof EnvironmentFileError) return error.message
  if (error instanceof StoreOpenError || error instanceof SecretsError) return error.message
  if (error instanceof StoreCopyError || error instanceof FewFilesError) return error.message
  if (error instanceof StoreUnavailableError) return toAdvice(error)
  if (errorCode(error) === 'EADDRINUSE') {
    const port = error instanceof Error && 'port' in error ? String(error.port) : ''
    return `port ${port} is taken by another process; stop that one, or set PORT or ADMIN_PORT to a free one`
  }
  if (error instanceof Error && 'code' in error && error.code === 'EACCES' && isListening(error)) {
    return `${error.message}; choose a port above 1023 or give the process the permission to use it`
  }
  if (error instanceof Error && 'code' in error && isNoAddress(error.code)) {
    return `${error.message}; set HOST and ADMIN_HOST to addresses of this machine, e.g. 127.0.0.1 or 0.0.0.0`
  }
  if (error instanceof Error && 'syscall' in error && 'path' in error) {
    return `${error.message}; check that DATA_DIR is writable`
  }
  // A start asks no provider but the emulators, to link the people of the demo.
  const failure = findFailure(error)
  if (failure?.kind === 'unavailable') {
    return `the emulators of the sandbox did not answer in time (${failure.detail}): raise UPSTREAM_TIMEOUT_MS and REQUEST_TIMEOUT_MS, or leave both out`
  }
  return error instanceof Error ? (error.stack ?? error.message) : String(error)
}

const isListening = (error: Error): boolean => 'syscall' in error && error.syscall === 'listen'

const isNoAddress = (code: unknown): boolean =>
  code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND' || code === 'EAI_AGAIN'
