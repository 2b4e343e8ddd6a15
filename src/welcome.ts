/** What a person reads when the process has started, or why it has not. */

import type { Demo } from '#sandbox/demo.ts'
import { StoreOpenError } from '#store/failure.ts'
import { type Config, ConfigError, type Origins } from './config.ts'
import { SecretsError } from './settings/secrets.ts'

export interface Welcome {
  readonly config: Config
  readonly origins: Origins
  readonly adminUrl: string
  readonly adminTokenFile: string | null
  readonly demo: Demo | null
}

/** Prints the addresses and, in sandbox mode, keys and a request that can be copied. */
export function printWelcome(welcome: Welcome): void {
  process.stdout.write(`${describeWelcome(welcome).join('\n')}\n`)
}

export function describeWelcome({
  config,
  origins,
  adminUrl,
  adminTokenFile,
  demo,
}: Welcome): string[] {
  const lines = [
    '',
    `Tributary is ready (${config.mode} mode, data in ${config.storeDir})`,
    '',
    `  Dashboard    ${origins.base}/`,
    `  REST API     ${origins.base}/v1`,
    `  API docs     ${origins.base}/doc`,
    `  OpenAPI      ${origins.base}/openapi.json`,
    `  Agents (MCP) ${origins.mcp}/mcp`,
    `  Admin API    ${adminUrl}${adminTokenFile === null ? '' : `  (token in ${adminTokenFile})`}`,
  ]
  if (demo === null) {
    lines.push('', `Next: ${describeNext(config, adminUrl, adminTokenFile)}`)
  } else lines.push(...describeDemo(origins, demo))
  lines.push('')
  return lines
}

/** What the command looks for by itself is left out; the rest stands before it, since another terminal does not know it. */
function describeNext(config: Config, adminUrl: string, adminTokenFile: string | null): string {
  const environment: string[] = []
  if (adminUrl !== usualAdminUrl) environment.push(`ADMIN_URL=${adminUrl} `)
  if (adminTokenFile === null) environment.push('ADMIN_TOKEN=… ')
  else if (config.given.some(({ name }) => name === 'DATA_DIR')) {
    environment.push(`DATA_DIR=${quote(config.dataDir)} `)
  }
  const command = 'npm run --silent tributary -- users create'
  return `${environment.join('')}${command} --email you@example.com --plan professional`
}

/** Where `ADMIN_HOST` and `ADMIN_PORT` put it when they are not set. */
const usualAdminUrl = 'http://127.0.0.1:3001'

/** As one word of a POSIX shell. */
function quote(text: string): string {
  return /^[\w./:@-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`
}

function describeDemo(origins: Origins, demo: Demo): string[] {
  const [first] = demo.users
  return [
    '',
    'Sandbox: three emulated providers with made-up people. One demo key per plan:',
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
export function describeFailure(error: unknown): string {
  if (error instanceof ConfigError) return error.message
  if (error instanceof StoreOpenError || error instanceof SecretsError) return error.message
  if (error instanceof Error && 'code' in error && error.code === 'EADDRINUSE') {
    const port = 'port' in error ? String(error.port) : ''
    return `port ${port} is taken by another process; stop that one, or set PORT or ADMIN_PORT to a free one`
  }
  if (error instanceof Error && 'code' in error && error.code === 'EACCES') {
    return `${error.message}; choose a port above 1023 or give the process the right to it`
  }
  if (error instanceof Error && 'code' in error && isNoAddress(error.code)) {
    return `${error.message}; set HOST and ADMIN_HOST to addresses of this machine, e.g. 127.0.0.1 or 0.0.0.0`
  }
  return error instanceof Error ? (error.stack ?? error.message) : String(error)
}

const isNoAddress = (code: unknown): boolean =>
  code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND' || code === 'EAI_AGAIN'
