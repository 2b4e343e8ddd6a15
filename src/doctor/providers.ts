/**
 * Each configured provider: whether it answers, whether it accepts our app's credentials, and what time its
 * clock shows. People and their consents are not checked here.
 */
import type { Origins } from '#contract/origins.ts'
import type { Provider } from '#contract/resources.ts'
import { type Clock, dayMs, toIso } from '#kernel/time.ts'
import { unreachable } from '#kernel/unreachable.ts'
import { factsOf, ownCredentialsOf } from '#providers/all-facts.ts'
import { UpstreamError, type UpstreamFailure } from '#providers/failure.ts'
import type { Adapter, Adapters, ProbeReply } from '#providers/port.ts'
import { StoreUnavailableError } from '#store/failure.ts'
import type { ProviderUse } from '#store/ports/inspector.ts'
import type { Store } from '#store/ports/store.ts'
import { compareClocks } from './clocks.ts'
import type { Installation } from './configuration.ts'
import { type Check, type Finding, fault, ok, warning } from './finding.ts'

/** The advice when a provider does not answer. */
export function remedyForProvider(provider: Provider): string {
  return `Check the provider’s status page, then ${baseUrlOf(provider)} and this machine’s outbound connection (DNS, firewall)`
}

interface Options {
  readonly clock: Clock
  readonly store: Pick<Store, 'inspector'>
  /** The origins that currently apply. */
  readonly origins: () => Pick<Origins, 'base'>
  readonly installation: Pick<Installation, 'mode'>
  /** How long the store may take, so that its silence is not taken for the provider's. */
  readonly storeWaitMs: number
}

interface UseOptions extends Pick<Options, 'store'> {
  readonly installation: Installation
}

/** Named individually; further people are only counted. */
const maxNamed = 3
/** Banks are read there once a day at least; older data means that these reads fail. */
const staleMs = 2 * dayMs
const maxStale = 20

/** A provider that is reached with people's own keys alone is only asked once somebody is linked there. */
export function checkProvider(adapter: Adapter, options: Options): Check {
  const { clock, store, storeWaitMs } = options
  const { provider, access } = adapter
  const name = `provider:${provider}`
  return async (signal) => {
    const use = await readUse(adapter, store, storeWaitMs)
    const isUnused = use === 'none'
    const people = describePeople(adapter, use)
    const action = isUnused ? access.nextStep : null
    if (isUnused && !access.hasOwnCredentials) return [ok(name, people, action)]
    if (adapter.probe === undefined) return [ok(name, `${people}; it has no check`, action)]
    const asked = clock.now()
    const reply = await adapter.probe({ signal, priority: 'user' }).catch(toReply)
    const span = { asked, answered: clock.now() }
    const answers = access.hasOwnCredentials
      ? 'answers and accepts our credentials'
      : 'answers; tokens are people’s own'
    const { failure, note = null } = reply
    const todo = findNextStep(provider, reply, options)
    const message = [note ?? answers, ...(todo?.lacks ?? []), people].join('; ')
    return [
      failure !== null
        ? describe(provider, failure)
        : todo === null
          ? ok(name, message, action)
          : warning(name, message, todo.action),
      ...compareClocks(`clock:${provider}`, provider, reply.theirTimeMs, span),
      ...(use === 'unknown' ? [] : await within(storeWaitMs, findStale(adapter, store, clock))),
    ]
  }
}

/** Accepted credentials with which nobody can link yet; null: people can. */
function findNextStep(
  provider: Provider,
  { nextStep = null, returnUrls }: ProbeReply,
  { origins, installation }: Options,
): { readonly lacks: readonly string[]; readonly action: string } | null {
  const own = `${origins().base}/providers/${provider}/callback`
  // The sandbox takes every address of this machine.
  const isKnown = installation.mode === 'sandbox' || (returnUrls?.includes(own) ?? true)
  if (nextStep === null && isKnown) return null
  const where = factsOf(provider).personal?.source ?? `at ${factsOf(provider).name}`
  const enter = `Enter ${own} as a redirect URL ${where}; the address must be exactly that by which people open this server (BASE_URL)`
  return {
    lacks: isKnown ? [] : [`it does not have the redirect URL ${own}`],
    action: [...(nextStep === null ? [] : [nextStep]), ...(isKnown ? [] : [enter])].join('. '),
  }
}

/** Our own credentials can be tried while the store is unavailable. */
async function readUse(
  { provider, access }: Adapter,
  { inspector }: Options['store'],
  waitMs: number,
): Promise<ProviderUse | 'none' | 'unknown'> {
  try {
    const uses = await within(waitMs, inspector.listUse(maxNamed))
    return uses.find((one) => one.provider === provider) ?? 'none'
  } catch (error) {
    if (!(error instanceof StoreUnavailableError) || !access.hasOwnCredentials) throw error
    return 'unknown'
  }
}

/** @throws StoreUnavailableError after that time, too. */
async function within<Value>(waitMs: number, reading: Promise<Value>): Promise<Value> {
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(
    () => late.reject(new StoreUnavailableError(`no answer within ${waitMs / 1000} s`)),
    waitMs,
  )
  return Promise.race([reading, late.promise]).finally(() => clearTimeout(timer))
}

/** Whose keys are used, who is linked, when they were last read, and what is not possible with these keys. */
function describePeople(
  { access, freshness }: Adapter,
  links: ProviderUse | 'none' | 'unknown',
): string {
  const off = access.off.length === 0 ? '' : `; off: ${access.off.join(', ')}`
  if (links === 'unknown') return `${access.mode}: who is linked is not known without the store`
  if (links === 'none') return `${access.mode}: nobody is linked${off}`
  const { userCount, emails, connectionCount, refreshedAt } = links
  const rest = userCount - emails.length
  const who = `${emails.join(', ')}${rest > 0 ? ` and ${rest} more` : ''}`
  const count = `${connectionCount} connection${connectionCount === 1 ? '' : 's'}`
  const read = freshness === 'reads' ? 'last read' : 'last refreshed there'
  const when = refreshedAt === null ? 'not read yet' : `${read} ${toIso(refreshedAt)}`
  return `${access.mode} of ${who}: ${count}, ${when}${off}`
}

/** Data that its provider has not refreshed for too long, where the provider says when it did. */
async function findStale(
  { provider, category, freshness }: Adapter,
  store: Options['store'],
  clock: Clock,
): Promise<readonly Finding[]> {
  // Brokers' refreshes depend on the plan of the key; our own reads are judged by the connection's status.
  if (category !== 'banking' || freshness !== 'reported') return []
  const before = clock.now() - staleMs
  const stale = await store.inspector.listStale({ provider, before, limit: maxStale })
  return stale.map(({ id, email, institutionName, lastRefreshedAt }) =>
    warning(
      `stale:${id}`,
      `${institutionName} (${provider}) of ${email} was last refreshed there ${toIso(lastRefreshedAt)}, more than 48 h ago`,
      `Look at the login at ${provider}: it may ask for a new sign-in at the institution`,
    ),
  )
}

/** In live mode with nobody's key at all there is nothing to read. */
export function checkUse(adapters: Adapters, { store, installation }: UseOptions): Check {
  return async () => {
    const isConfigured = Object.values(adapters).some(({ access }) => access.hasOwnCredentials)
    if (installation.mode === 'sandbox' || isConfigured) return []
    if ((await store.inspector.listUse(1)).length > 0) return []
    return [
      warning(
        'links',
        'nobody is linked, and no provider has credentials of this installation: there is nothing to read',
        'Link your own accounts with `tributary setup`, or set the credentials of a provider and restart',
      ),
    ]
  }
}

function baseUrlOf(provider: Provider): string {
  return factsOf(provider).settings.baseUrl
}

function toReply(error: unknown): ProbeReply {
  if (!(error instanceof UpstreamError)) throw error
  return { theirTimeMs: null, failure: error.failure }
}

function describe(provider: Provider, failure: UpstreamFailure): Finding {
  const name = `provider:${provider}`
  const { detail } = failure
  switch (failure.kind) {
    case 'misconfigured':
      if (failure.status === 404) return describeStranger(provider, detail)
      return failure.status === 410
        ? fault(name, `has retired an endpoint: ${detail}`, 'Upgrade Tributary')
        : fault(
            name,
            `refuses this installation’s own credentials: ${detail}`,
            `Compare ${ownCredentialsOf(provider)} with the provider’s console, and this machine’s clock with NTP`,
          )
    case 'throttled':
      return warning(
        name,
        `throttles us: ${detail}`,
        `Check again in ${failure.retryAfterSeconds} s; if it persists, ask the provider for a higher limit`,
      )
    case 'unavailable':
      return fault(
        name,
        failure.status === null ? detail : `answers ${failure.status}: ${detail}`,
        remedyForProvider(provider),
      )
    case 'malformed':
    case 'rejected':
    case 'account_gone':
    case 'consent_lost':
    case 'preparing':
      return describeStranger(provider, detail)
    default:
      return unreachable(failure)
  }
}

function describeStranger(provider: Provider, detail: string): Finding {
  return fault(
    `provider:${provider}`,
    `does not answer as ${provider} does: ${detail}`,
    `Check that ${baseUrlOf(provider)} leads to the provider and that no proxy answers instead`,
  )
}
