/**
 * Each configured provider: whether it answers, whether it accepts our app's credentials, and what time its clock
 * shows. People and their consents are not checked here.
 */
import type { Provider } from '#contract/resources.ts'
import type { Clock } from '#kernel/time.ts'
import { unreachable } from '#kernel/unreachable.ts'
import { factsOf, ownCredentialsOf } from '#providers/all-facts.ts'
import { UpstreamError, type UpstreamFailure } from '#providers/failure.ts'
import type { Adapter, ProbeReply } from '#providers/port.ts'
import type { Store } from '#store/ports/store.ts'
import { compareClocks } from './clocks.ts'
import { type Check, type Finding, fault, ok, warning } from './finding.ts'

/** The advice when a provider does not answer. */
export function remedyForProvider(provider: Provider): string {
  return `Check the provider’s status page, then ${baseUrlOf(provider)} and this machine’s outbound connection (DNS, firewall)`
}

interface Parts {
  readonly clock: Clock
  readonly store: Pick<Store, 'inspector'>
}

/** A provider that is always on, because it needs no credentials of ours, is only asked once somebody is linked there. */
export function checkProvider(adapter: Adapter, { clock, store }: Parts): Check {
  const { provider } = adapter
  const name = `provider:${provider}`
  const isOpen = !adapter.access.hasOwnCredentials
  return async (signal) => {
    if (isOpen && !(await store.inspector.listProviders()).includes(provider)) {
      return [ok(name, 'nobody is linked; people link their own tokens, nothing is to be set')]
    }
    if (adapter.probe === undefined) return [ok(name, 'configured; this provider has no check')]
    const asked = clock.now()
    const reply = await adapter.probe({ signal, priority: 'user' }).catch(toReply)
    const span = { asked, answered: clock.now() }
    return [
      reply.failure === null
        ? ok(
            name,
            reply.note ??
              (isOpen ? 'answers; tokens are people’s own' : 'answers and accepts our credentials'),
          )
        : describe(provider, reply.failure),
      ...compareClocks(`clock:${provider}`, provider, reply.theirTimeMs, span),
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
      return fault(
        name,
        `does not answer as ${provider} does: ${detail}`,
        `Check that ${baseUrlOf(provider)} leads to the provider and that no proxy answers instead`,
      )
    default:
      return unreachable(failure)
  }
}
