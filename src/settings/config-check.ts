/**
 * What single variables cannot tell: combinations that cannot work (problems) and those that work but deserve a
 * sentence in the log (warnings). Neither ever shows a secret.
 */
import type { Config, Environment } from '../config.ts'
import { isLoopbackHost, isSameListener } from './listener.ts'
import { type SettingName, settings } from './settings.ts'

type Given = (name: SettingName) => boolean
type Draft = Omit<Config, 'given' | 'warnings'>

/** One line per combination that cannot work. */
export function findContradictions(config: Draft, given: Given): string[] {
  const problems: string[] = []
  if (!config.listener.isLoopback && !given('BASE_URL')) {
    problems.push(
      'BASE_URL: not set, should be the public origin, since HOST is not a loopback address',
    )
  }
  if (given('DATABASE_URL') && !given('ENCRYPTION_KEY')) {
    problems.push(
      'ENCRYPTION_KEY: not set, should be set together with DATABASE_URL (openssl rand -base64 32), the same on every process',
    )
  }
  if (isSameListener(config.listener, config.adminListener)) {
    problems.push(
      `ADMIN_PORT: got "${config.adminListener.port}", should differ from PORT: the admin API is never on the public listener`,
    )
  }
  return problems
}

/** One sentence per combination that an operator should know of. */
export function findWarnings(config: Draft, given: Given, environment: Environment): string[] {
  return [
    ...findPlainHttp(config),
    ...findIdleSettings(config, given),
    ...findExposure(config),
    ...findSlips(environment),
  ]
}

function findPlainHttp(config: Draft): string[] {
  const { fiskil, akahu, snaptrade } = config.providers
  const urls: [string, string | null][] = [
    ['BASE_URL', config.baseUrl],
    ['MCP_URL', config.mcpUrl],
    ['AUTH_URL', config.authUrl],
    ['FISKIL_BASE_URL', fiskil?.baseUrl ?? null],
    ['AKAHU_BASE_URL', akahu?.baseUrl ?? null],
    ['AKAHU_OAUTH_URL', akahu?.oauthUrl ?? null],
    ['SNAPTRADE_BASE_URL', snaptrade?.baseUrl ?? null],
  ]
  const plain = urls.flatMap(([name, url]) =>
    url === null || url.startsWith('https:') || isLoopbackUrl(url)
      ? []
      : [`${name} is plain http on a public host: keys and tokens travel readable by others.`],
  )
  // A name that means this machine, served to others all the same (interfaces, section 6).
  const { baseUrl } = config
  if (!config.listener.isLoopback && baseUrl?.startsWith('http:') && isLoopbackUrl(baseUrl)) {
    plain.push('HOST is not a loopback address and BASE_URL is plain http: cookies are not Secure.')
  }
  return plain
}

function isLoopbackUrl(url: string): boolean {
  return isLoopbackHost(new URL(url).hostname.replace(/^\[(.*)\]$/, '$1'))
}

function findIdleSettings(config: Draft, given: Given): string[] {
  const warnings: string[] = []
  const configured = Object.entries(config.providers).flatMap(([name, provider]) =>
    provider === null ? [] : [name],
  )
  if (config.mode === 'sandbox' && configured.length > 0) {
    warnings.push(`SANDBOX is true: the credentials of ${configured.join(', ')} are not used.`)
  }
  if (config.mode === 'live' && configured.length === 0) {
    warnings.push('No provider is configured: nothing can be linked and no live data is served.')
  }
  if (given('DATABASE_URL') && !given('REDIS_URL')) {
    warnings.push(
      'REDIS_URL is not set: limits, breakers and cached answers are per process. Several processes need it.',
    )
  }
  for (const name of ['fiskil', 'akahu', 'snaptrade'] as const) {
    const url = `${name.toUpperCase()}_BASE_URL` as SettingName
    if (given(url) && config.providers[name] === null) {
      warnings.push(`${url} is set, but the credentials of ${name} are not: it has no effect.`)
    }
  }
  return warnings
}

const shortToken = 16

function findExposure(config: Draft): string[] {
  const warnings: string[] = []
  if (!config.adminListener.isLoopback) {
    warnings.push('ADMIN_HOST is not a loopback address: keep the admin API off public networks.')
  }
  if (config.adminToken !== null && config.adminToken.reveal().length < shortToken) {
    warnings.push(`ADMIN_TOKEN has fewer than ${shortToken} characters and can be guessed.`)
  }
  return warnings
}

/** A misspelt name would change nothing in silence: names that begin like ours are compared with the list. */
const families = ['RATE_LIMIT_', 'CACHE_MAX_', 'WEBHOOK_', 'FISKIL_', 'AKAHU_', 'SNAPTRADE_']

function findSlips(environment: Environment): string[] {
  const known = new Set<string>(settings.map(([name]) => name))
  return Object.keys(environment)
    .filter((name) => families.some((family) => name.startsWith(family)) && !known.has(name))
    .sort()
    .slice(0, 20)
    .map((name) => `${name} is no variable of this product: it has no effect.`)
}
