/**
 * Checks combinations of variables: those that cannot work (problems) and those that work but need the
 * operator's attention (warnings). Neither ever shows a secret.
 */
import type { Provider } from '#contract/resources.ts'
import { isLoopbackHost } from '#kernel/addresses.ts'
import { factsOf, personalVariables, providerNames } from '#providers/all-facts.ts'
import type { Config } from './compose.ts'
import type { Environment } from './environment-file.ts'
import { isSameListener } from './listener.ts'
import { hasOwnCredentials } from './own-credentials.ts'
import { type SettingName, settings } from './settings.ts'

type Given = (name: SettingName) => boolean
type Draft = Omit<Config, 'given' | 'environmentFile' | 'warnings'>

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
  if (given('REDIS_CACHE_URL') && !given('REDIS_URL')) {
    problems.push('REDIS_URL: not set, should be set together with REDIS_CACHE_URL')
  }
  if (isSameListener(config.listener, config.adminListener)) {
    problems.push(
      `ADMIN_PORT: got "${config.adminListener.port}", should differ from PORT: the admin API is never on the public listener`,
    )
  }
  return problems
}

/** One sentence per combination that an operator should know of. */
export function findConfigWarnings(
  config: Draft,
  given: Given,
  environment: Environment,
): string[] {
  return [
    ...findPlainHttp(config),
    ...findOtherPaths(config),
    ...findIdleSettings(config, given),
    ...findExposure(config),
    ...findOpenPlan(config, given),
    ...findSlips(environment),
    ...findLonelyRole(config, given),
    ...findPlainMail(config),
  ]
}

/** A relay of a private network may have no TLS; what it is sent includes links that give access. */
function findPlainMail({ smtpUrl }: Draft): string[] {
  const isPlain = smtpUrl !== null && URL.parse(smtpUrl.reveal())?.searchParams.has('tls')
  return isPlain === true
    ? [
        'SMTP_URL says tls=never: whoever can read the network between this machine and the mail server can use the links of invitations and new passwords.',
      ]
    : []
}

/** The embedded store admits one process, so no other process does what its role leaves out. */
function findLonelyRole({ role }: Draft, given: Given): string[] {
  if (role === 'all' || given('DATABASE_URL')) return []
  const missing =
    role === 'api'
      ? 'nobody runs syncs, sends events or deletes what has expired'
      : 'nobody answers requests'
  return [`ROLE is ${role} on the embedded store, which admits one process: ${missing}.`]
}

function findPlainHttp(config: Draft): string[] {
  const urls: (readonly [string, string | null])[] = [
    ['BASE_URL', config.baseUrl],
    ['MCP_URL', config.mcpUrl],
    ['AUTH_URL', config.authUrl],
    ...providerNames.flatMap((name) => listUrls(name, config)),
  ]
  const plain = urls.flatMap(([name, url]) =>
    url === null || url.startsWith('https:') || isLoopbackUrl(url)
      ? []
      : [`${name} is plain http on a public host: keys and tokens are sent unencrypted.`],
  )
  // A host name that means this machinealthough others are served (docs/operations/install.md, The proxy).
  const { baseUrl } = config
  if (!config.listener.isLoopback && baseUrl?.startsWith('http:') && isLoopbackUrl(baseUrl)) {
    plain.push('HOST is not a loopback address and BASE_URL is plain http: cookies are not Secure.')
  }
  return plain
}

/**
 * A base URL whose path does not end as the provider's own does: what answers to wrong paths looks like
 * refused credentials.
 */
function findOtherPaths({ providers }: Draft): string[] {
  return providerNames.flatMap((name) => {
    const own = providers[name]
    const variable = factsOf(name).settings.baseUrl
    const usual = String(settings.find(([setting]) => setting === variable)?.[1].fallback)
    const end = pathOf(usual)
    if (own === null) return []
    const isUsual = end === '' ? !/\/(?:api|v\d+)$/.test(own.baseUrl) : own.baseUrl.endsWith(end)
    const wanted = end === '' ? 'without a version' : `in ${end}`
    return isUsual
      ? []
      : [`${variable} should end ${wanted}, as ${usual} does: nothing can be read.`]
  })
}

const pathOf = (url: string) => new URL(url).pathname.replace(/\/+$/, '')

/** The URLs that are set for a provider, each with its variable. */
function listUrls(name: Provider, config: Draft): (readonly [string, string])[] {
  const { baseUrl, preset } = factsOf(name).settings
  const variables: Readonly<Record<string, string>> = { baseUrl, ...preset }
  return Object.entries(config.providers[name] ?? {}).flatMap(([field, value]) => {
    const variable = variables[field]
    const isUrl = field.endsWith('Url') && variable !== undefined && typeof value === 'string'
    return isUrl ? [[variable, value] as const] : []
  })
}

function isLoopbackUrl(url: string): boolean {
  return isLoopbackHost(new URL(url).hostname.replace(/^\[(.*)\]$/, '$1'))
}

function findIdleSettings(config: Draft, given: Given): string[] {
  const warnings: string[] = []
  const open = providerNames.filter((name) => factsOf(name).isOpen)
  const configured = providerNames.filter((name) => hasOwnCredentials(config.providers, name))
  if (config.mode === 'sandbox' && configured.length > 0) {
    warnings.push(`SANDBOX is true: the credentials of ${configured.join(', ')} are not used.`)
  }
  if (given('DATABASE_URL') && !given('REDIS_URL')) {
    warnings.push(
      'REDIS_URL is not set: limits, breakers, cached answers and what a walk has read are per process. Several processes need it.',
    )
  }
  for (const name of providerNames) {
    const url = factsOf(name).settings.baseUrl as SettingName
    if (given(url) && config.providers[name] === null) {
      warnings.push(`${url} is set, but the credentials of ${name} are not: it has no effect.`)
    }
    if (open.includes(name) && !configured.includes(name)) {
      warnings.push(...findPresetsAlone(name, given))
    }
    if (given(url) && config.mode === 'sandbox' && open.includes(name)) {
      warnings.push(`${url} is set, but SANDBOX is true: it has no effect. Set SANDBOX=false.`)
    }
  }
  return warnings
}

/** What describes this installation's own credentials says nothing of those that people bring. */
function findPresetsAlone(name: Provider, given: Given): string[] {
  const { preset, required } = factsOf(name).settings
  const alone = Object.values(preset).filter((variable) => given(variable as SettingName))
  const names = Object.values(required)
  // Where the installation needs no credentials, a preset is for the keys of people.
  if (names.length === 0) return []
  const missing = `${names.join(' and ')} ${names.length === 1 ? 'is' : 'are'} not`
  return alone.map((one) => `${one} is set, but ${missing}: it has no effect.`)
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
  if (config.events.allowPrivate && isPublic(config)) {
    warnings.push(
      'WEBHOOK_ALLOW_PRIVATE is true and other machines are served: whoever may make a webhook endpoint can make this machine send requests into its own network.',
    )
  }
  return warnings
}

/** Access for everybody is a decision of the operator, not a default. */
function findOpenPlan({ mode, signUp, plans }: Draft, given: Given): string[] {
  if (mode === 'sandbox' || signUp !== 'open' || given('DEFAULT_PLAN')) return []
  return [
    `SIGN_UP is open and DEFAULT_PLAN is not set: whoever signs up has the plan ${plans.defaultPlan}. Set DEFAULT_PLAN to none, or to the plan that is meant.`,
  ]
}

function isPublic({ listener, baseUrl }: Draft): boolean {
  return !listener.isLoopback || (baseUrl !== null && !isLoopbackUrl(baseUrl))
}

/** A misspelt name would be ignored without notice: names that begin like ours are compared with the list. */
const families = [
  'RATE_LIMIT_',
  'CACHE_MAX_',
  'WEBHOOK_',
  ...providerNames.map((name) => `${name.toUpperCase()}_`),
]

function findSlips(environment: Environment): string[] {
  const ofSetup = personalVariables.map(({ name }) => name)
  const known = new Set<string>([...settings.map(([name]) => name), ...ofSetup])
  return Object.keys(environment)
    .filter((name) => families.some((family) => name.startsWith(family)) && !known.has(name))
    .sort()
    .slice(0, 20)
    .map((name) => `${name} is not a variable of Tributary: it has no effect.`)
}
